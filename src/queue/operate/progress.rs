//! How far a purge or a requeue has come, for the next call.

use std::fmt;

use crate::job::{Code, Invalid};

/// Behind a job that stays where it is. Opaque: hex of what the next step goes on from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Of a purge: the state that is removed. Of a requeue: until when its jobs have died.
    pub(super) stage: String,
    /// Empty: from the front.
    pub(super) score: String,
    pub(super) member: String,
}

impl Progress {
    pub const RULE: Invalid = Invalid("must be the `next` of the call before");

    /// Of a purge.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn of_purge(text: &str) -> Result<Self, Invalid> {
        Self::parse(text).filter(|at| at.stage.bytes().all(|byte| byte.is_ascii_lowercase())).ok_or(Self::RULE)
    }

    /// Of a requeue.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn of_requeue(text: &str) -> Result<Self, Invalid> {
        Self::parse(text).filter(|at| at.stage.parse::<u64>().is_ok_and(|until| until > 0)).ok_or(Self::RULE)
    }

    fn parse(text: &str) -> Option<Self> {
        let digit = |byte: &u8| (*byte as char).to_digit(16).map(|n| n as u8);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> = pairs.iter().map(|[a, b]| Some(digit(a)? << 4 | digit(b)?)).collect();
        let text = String::from_utf8(bytes.filter(|bytes| rest.is_empty() && bytes.len() <= 512)?).ok()?;
        let mut parts = text.splitn(3, ' ').map(str::to_owned);
        let at = Self { stage: parts.next()?, score: parts.next()?, member: parts.next()? };
        let ends_in_code = |member: &str| {
            member.len().checked_sub(Code::LEN).and_then(|cut| member.get(cut..)).and_then(Code::parse).is_some()
        };
        let is_place = at.score.parse().is_ok_and(f64::is_finite) && ends_in_code(&at.member);
        (is_place || at.score.is_empty() && at.member.is_empty()).then_some(at)
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format!("{} {} {}", self.stage, self.score, self.member).bytes().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_again_and_nothing_else_is() {
        let code = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
        for (stage, score, member) in [("dead", "", ""), ("blocked", "0", code), ("waiting", "17", code)] {
            let at = Progress { stage: stage.into(), score: score.into(), member: member.into() };
            assert_eq!(Progress::of_purge(&at.to_string()), Ok(at.clone()));
            assert!(Progress::of_requeue(&at.to_string()).is_err());
        }
        let at = Progress { stage: "1763".into(), ..Progress::default() };
        assert_eq!(Progress::of_requeue(&at.to_string()), Ok(at));
        for text in ["", "7", "zz", "64656164", "64656164202061"] {
            assert!(Progress::of_purge(text).is_err(), "{text}");
        }
    }
}
