//! Keeps a connection alive while many pages without a matching job are read.

use std::time::Instant;

use super::HEARTBEAT_INTERVAL;
use crate::waits::hurried;

/// The time of the last output.
pub struct Heartbeat(Instant);

impl Heartbeat {
    pub fn since(then: Instant) -> Self {
        Self(then)
    }

    /// Notes the next output. After a long silence, an empty one becomes a blank line.
    pub fn fill(&mut self, text: &mut Vec<u8>, now: Instant) {
        if text.is_empty() && now.saturating_duration_since(self.0) >= hurried(HEARTBEAT_INTERVAL) {
            text.push(b'\n');
        }
        if !text.is_empty() {
            self.0 = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn blank_line_follows_a_long_silence() {
        let begin = Instant::now();
        let mut heartbeat = Heartbeat::since(begin);
        let mut filled = |text: &str, ms: u64| {
            let mut text = text.as_bytes().to_vec();
            heartbeat.fill(&mut text, begin + Duration::from_millis(ms));
            String::from_utf8(text).expect("text")
        };
        assert_eq!(
            [filled("", 14_999), filled("", 15_000), filled("", 29_999), filled("", 30_001)],
            ["", "\n", "", "\n"]
        );
        assert_eq!([filled("{}\n", 31_000), filled("", 45_999), filled("", 46_000)], ["{}\n", "", "\n"]);
    }
}
