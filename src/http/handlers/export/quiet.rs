//! How long nothing was said: many pages may have to be read before one has a job that is asked for.

use std::time::Instant;

use super::HEARTBEAT;

/// When something was said last.
pub struct Quiet(Instant);

impl Quiet {
    pub fn since(then: Instant) -> Self {
        Self(then)
    }

    /// What is said next. Where that is nothing, for long, it becomes a blank line.
    pub fn is_broken_by(&mut self, text: &mut Vec<u8>, now: Instant) {
        if text.is_empty() && now.saturating_duration_since(self.0) >= HEARTBEAT {
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
    fn a_blank_line_is_said_when_nothing_else_was_for_long() {
        let begin = Instant::now();
        let mut quiet = Quiet::since(begin);
        let mut said = |text: &str, ms: u64| {
            let mut text = text.as_bytes().to_vec();
            quiet.is_broken_by(&mut text, begin + Duration::from_millis(ms));
            String::from_utf8(text).expect("text")
        };
        assert_eq!([said("", 14_999), said("", 15_000), said("", 29_999), said("", 30_001)], ["", "\n", "", "\n"]);
        assert_eq!([said("{}\n", 31_000), said("", 45_999), said("", 46_000)], ["{}\n", "", "\n"]);
    }
}
