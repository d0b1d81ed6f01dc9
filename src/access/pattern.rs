//! The queues that a credential is valid for.

use std::fmt;

use crate::job::{Invalid, QueueName, limits};

/// A queue name in which `*` matches any number of characters.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    pub const RULE: Invalid = Invalid("must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_', '-' and '*'");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::QUEUE_NAME).contains(&text.len());
        let clean = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'*'));
        if fits && clean { Ok(Self(text.to_owned())) } else { Err(Self::RULE) }
    }

    /// Matches this queue only.
    pub fn of(queue: &QueueName) -> Self {
        Self(queue.as_str().to_owned())
    }

    pub fn all() -> Self {
        Self("*".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn matches(&self, queue: &QueueName) -> bool {
        glob(self.0.as_bytes(), queue.as_str().as_bytes())
    }

    /// Whether it matches every queue that the other matches. A `*` of the other is matched only by a `*`.
    pub fn covers(&self, other: &Self) -> bool {
        glob(self.0.as_bytes(), other.0.as_bytes())
    }

    /// Whether some queue name matches both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (one, other) = (self.0.as_bytes(), other.0.as_bytes());
        // Row by row from the ends: whether what follows in both can be the same text.
        let mut below = vec![false; other.len() + 1];
        for p in (0..=one.len()).rev() {
            let mut row = vec![false; other.len() + 1];
            for t in (0..=other.len()).rev() {
                row[t] = match (one.get(p), other.get(t)) {
                    (None, None) => true,
                    (Some(b'*'), _) if below[t] => true,
                    (_, Some(b'*')) if row[t + 1] => true,
                    (Some(b'*'), Some(_)) => row[t + 1],
                    (Some(_), Some(b'*')) => below[t],
                    (Some(a), Some(b)) => a == b && below[t + 1],
                    (None, Some(_)) | (Some(_), None) => false,
                };
            }
            below = row;
        }
        below[0]
    }

    /// The number of literal characters: a narrower pattern has more.
    pub(super) fn letters(&self) -> usize {
        self.0.bytes().filter(|byte| *byte != b'*').count()
    }

    /// The queue, if the pattern matches exactly one.
    pub fn exact(&self) -> Option<QueueName> {
        QueueName::parse(&self.0).ok()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Takes time of at most one length times the other: only the last `*` is backtracked.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut retry) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            Some(_) | None => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                p = star + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).expect(text)
    }

    #[test]
    fn only_star_is_special() {
        for (text, queue, is) in [
            ("a", "a", true),
            ("a", "A", false),
            ("a", "ab", false),
            ("a.c", "abc", false),
            ("*", "any", true),
            ("a*", "a", true),
            ("a*", "abc", true),
            ("a*", "ba", false),
            ("*a", "bca", true),
            ("*a", "ab", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "abbc", true),
            ("a*b*c", "acb", false),
            ("*ab", "aab", true),
            ("**", "x", true),
        ] {
            let queue = QueueName::parse(queue).expect("a queue");
            assert_eq!(pattern(text).matches(&queue), is, "{text} {queue}");
        }
        let long = QueueName::parse(&"a".repeat(64)).expect("a queue");
        assert!(!pattern(&format!("{}b", "*a".repeat(31))).matches(&long), "matching stays fast");
    }

    #[test]
    fn pattern_covers_only_narrower_patterns() {
        for (own, given, is) in [
            ("*", "*", true),
            ("*", "a", true),
            ("a*", "a*", true),
            ("a*", "ab*c", true),
            ("a*", "*", false),
            ("a*", "*a", false),
            ("a", "a*", false),
            ("a", "a", true),
            ("a*c", "abc", true),
            ("a*c", "a*", false),
        ] {
            assert_eq!(pattern(own).covers(&pattern(given)), is, "{own} {given}");
        }
    }

    #[test]
    fn patterns_overlap_if_a_name_matches_both() {
        for (one, other, is) in [
            ("*", "a", true),
            ("a*", "*b", true),
            ("a*", "b*", false),
            ("a*c", "ab*", true),
            ("a*c", "*d", false),
            ("ab", "ab", true),
            ("ab", "a", false),
            ("a*b*c", "*x*", true),
            ("abc", "a*d", false),
            ("a", "a*", true),
        ] {
            assert_eq!(pattern(one).overlaps(&pattern(other)), is, "{one} {other}");
            assert_eq!(pattern(other).overlaps(&pattern(one)), is, "{other} {one}");
        }
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for wrong in ["", "a b", "a,b", "a?", "[ab]", "é", &"x".repeat(65)] {
            assert_eq!(Pattern::parse(wrong), Err(Pattern::RULE), "{wrong}");
        }
    }
}
