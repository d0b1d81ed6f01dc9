//! A progress bar on standard error, shown only on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::clean;

pub struct Bar(ProgressBar);

impl Bar {
    /// `bytes` is the total size, if known.
    pub fn new(bytes: Option<u64>) -> Self {
        let (bar, style) = match bytes {
            Some(bytes) => (ProgressBar::new(bytes), "{bar:30} {bytes}/{total_bytes} {msg} {eta}"),
            None => (ProgressBar::no_length(), "{spinner} {bytes} {msg} {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub fn is_at(&self, bytes: u64, jobs: u64) {
        self.0.set_position(bytes);
        self.0.set_message(format!("{jobs} jobs"));
    }

    /// Prints a line that stays above the bar. It may quote a file or an answer.
    pub fn says(&self, line: &str) {
        self.0.suspend(|| eprintln!("{}", clean(line)));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
