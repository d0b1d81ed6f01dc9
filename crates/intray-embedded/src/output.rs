//! Turns the private server's output into log lines.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, PipeReader},
    sync::Arc,
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use tracing::{debug, warn};

/// How many of the last warnings are kept for the message about the server's death.
const LAST_WORDS: usize = 5;
/// Warnings that the server prints at every start and stop.
const ROUTINE: [&str; 9] = [
    // This is a setting of the machine, which cannot be changed in a container.
    "overcommit",
    "oO0OoO0OoO0Oo",
    "Redis version=",
    "Valkey version=",
    "Configuration loaded",
    "Server initialized",
    "User requested shutdown",
    "Redis is now ready to exit",
    "Valkey is now ready to exit",
];

/// The output of one server, read by a thread until the server closes it.
pub(super) struct Output {
    thread: thread::JoinHandle<()>,
    last_words: Arc<Mutex<VecDeque<String>>>,
}

impl Output {
    pub(super) fn read(pipe: PipeReader) -> std::io::Result<Self> {
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&last_words);
        let lines = BufReader::new(pipe).split(b'\n').map_while(Result::ok);
        let thread = thread::Builder::new().name("engine-output".to_owned()).spawn(move || {
            lines.for_each(|line| pass_on(&String::from_utf8_lossy(&line), &kept));
        })?;
        Ok(Self { thread, last_words })
    }

    /// The last warnings of a dead server. The thread gets only a moment to read them, because a child of the server that
    /// rewrites its file may keep the pipe open.
    pub(super) fn last_words(&self) -> String {
        for _ in 0..20 {
            if self.thread.is_finished() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let kept = self.last_words.lock();
        if kept.is_empty() { "none".to_owned() } else { kept.iter().cloned().collect::<Vec<_>>().join(" / ") }
    }
}

fn pass_on(line: &str, kept: &Mutex<VecDeque<String>>) {
    let (serious, message) = rank(line);
    if message.is_empty() {
        return;
    }
    if !serious {
        debug!("{message}");
        return;
    }
    warn!("{message}");
    let mut kept = kept.lock();
    kept.push_back(message.to_owned());
    if kept.len() > LAST_WORDS {
        kept.pop_front();
    }
}

/// Whether a line is a warning, and its text: `812:M 21 Nov 2026 09:15:29.123 # text`, where `#` is its level. A line of
/// another form counts as a warning, because it reports a rejected argument or a crash.
fn rank(line: &str) -> (bool, &str) {
    let parts: Vec<&str> = line.trim_end().splitn(7, ' ').collect();
    match parts.as_slice() {
        [_, _, _, _, _, "#", text] => (!ROUTINE.iter().any(|routine| text.contains(routine)), text),
        [_, _, _, _, _, "*" | "-" | ".", text] => (false, text),
        _ if line.contains("signal-handler") => (false, line),
        _ => (true, line.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn only_the_servers_warnings_are_warnings() {
        assert_eq!(rank("8:M 21 Nov 2026 09:15:29.123 # Bad file format"), (true, "Bad file format"));
        assert_eq!(rank("8:M 21 Nov 2026 09:15:29.123 * Ready to accept"), (false, "Ready to accept"));
        assert!(!rank("8:C 21 Nov 2026 09:15:29.123 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo").0);
        assert!(!rank("8:signal-handler (1795252529) Received SIGTERM scheduling shutdown...").0);
        assert_eq!(rank("*** FATAL CONFIG FILE ERROR ***"), (true, "*** FATAL CONFIG FILE ERROR ***"));
        assert_eq!(rank("").1, "");
    }
}
