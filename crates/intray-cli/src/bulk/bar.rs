//! A progress bar on standard error, shown only on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::clean;

/// What a file consists of.
enum FileParts {
    Lines,
    Rows(Vec<(&'static str, String)>),
}

pub struct Bar(ProgressBar, FileParts);

impl Bar {
    /// `bytes` is the total size, if known.
    pub fn new(bytes: Option<u64>) -> Self {
        Self::of(bytes, FileParts::Lines)
    }

    /// The same for a table: each field of a job with the column that sets it.
    pub fn of_table(bytes: Option<u64>, columns: Vec<(&'static str, String)>) -> Self {
        Self::of(bytes, FileParts::Rows(columns))
    }

    fn of(bytes: Option<u64>, parts: FileParts) -> Self {
        let (bar, style) = match bytes {
            Some(bytes) => (ProgressBar::new(bytes), "{bar:30} {bytes}/{total_bytes} {msg} {eta}"),
            None => (ProgressBar::no_length(), "{spinner} {bytes} {msg} {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self(bar, parts)
    }

    pub fn is_at(&self, bytes: u64, jobs: u64) {
        self.0.set_position(bytes);
        self.0.set_message(format!("{jobs} jobs"));
    }

    /// Prints why the service refused a line or a row, with the column if one field is the reason.
    pub fn refuses(&self, number: u64, queue: Option<&str>, detail: &str) {
        let of = queue.map(|queue| format!(" of queue {queue}")).unwrap_or_default();
        let column = match &self.1 {
            FileParts::Lines => String::new(),
            FileParts::Rows(columns) => column_of(columns, detail),
        };
        self.says(&format!("{} {number}{column}{of}: {detail}", self.noun()));
    }

    /// A part of the file.
    pub fn noun(&self) -> &'static str {
        match self.1 {
            FileParts::Lines => "line",
            FileParts::Rows(_) => "row",
        }
    }

    /// Prints a line that stays above the bar. It may quote a file or an answer.
    pub fn says(&self, line: &str) {
        self.0.suspend(|| eprintln!("{}", clean(line)));
    }
}

/// The columns that set the field with which a refusal begins. A batch has its fields in `job`.
fn column_of(columns: &[(&'static str, String)], detail: &str) -> String {
    let path = detail.split_once(": ").map_or("", |(path, _)| path);
    let field = path.strip_prefix("job/").unwrap_or(path).split('/').next();
    let of_the_field = columns.iter().filter(|(name, _)| Some(*name) == field).map(|(_, column)| column.as_str());
    let names: Vec<_> = of_the_field.collect();
    if names.is_empty() { String::new() } else { format!(", column {}", names.join(", ")) }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::column_of;

    #[test]
    fn refusal_names_the_column_of_its_field() {
        let columns = [("priority", "Prio".to_owned()), ("assignees", "For whom".to_owned())];
        let column = |detail: &str| column_of(&columns, detail);
        assert_eq!(column("priority: must be a whole number"), ", column Prio");
        assert_eq!(column("job/assignees/0: is too long (and 2 more)"), ", column For whom");
        for other in ["the queue is full", "payload: is too large", "skill: is wrong", ""] {
            assert_eq!(column(other), "", "{other}");
        }
    }
}
