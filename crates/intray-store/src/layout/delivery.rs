//! A delivery: an event on its way to a webhook.

use crate::{
    job::{Code, Millis, ids::random_code},
    redis::read::broken,
};
use intray_redis::Fault;

/// The id of a delivery, the same at each attempt. Ids sort by the time of their event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(Code);

/// The prefix of an id where others see it.
const PREFIX: &str = "msg_";
/// The bits of an id that follow the time of the event.
const HASH_BITS: u32 = 80;

impl DeliveryId {
    /// The same event and digest make the same id, so that an event that is read twice is delivered under one id.
    pub fn new(at: Millis, digest: &[u8; 32]) -> Self {
        let hash = digest.iter().take(HASH_BITS as usize / 8).fold(0, |hash, byte| hash << 8 | u128::from(*byte));
        Self(Code::from_bits(u128::from(at.0) << HASH_BITS | hash))
    }

    /// An id for a delivery without an event: 128 unguessable bits.
    pub fn random() -> Self {
        Self(random_code())
    }

    /// `None` for a text that no id has.
    pub fn parse(text: &str) -> Option<Self> {
        Code::parse(text.strip_prefix(PREFIX)?).map(Self)
    }

    pub(crate) fn of_code(code: Code) -> Self {
        Self(code)
    }

    pub(crate) fn code(&self) -> &Code {
        &self.0
    }

    /// The time of the event.
    pub fn at(&self) -> Millis {
        Millis(u64::try_from(self.0.bits() >> HASH_BITS).unwrap_or_default())
    }
}

impl std::fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{}", self.0.as_str())
    }
}

crate::job::serialize_displayed!(DeliveryId);

/// What is kept of a delivery in addition to its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryHead {
    pub attempts: u32,
    /// The status of the last answer; `None` before the first attempt, and when none came.
    pub status: Option<u16>,
    /// The event's type, like `job.completed`.
    pub kind: String,
    /// The job, or the batch.
    pub subject: String,
    /// Why the last attempt had no answer; empty if it had one.
    pub error: String,
}

impl DeliveryHead {
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let mut words = text.splitn(5, ' ');
        let mut word = || words.next().ok_or_else(|| broken("the head of a delivery"));
        let attempts = word()?.parse().map_err(|_| broken("attempts"))?;
        let (status, kind) = (word()?.parse().ok(), word()?.to_owned());
        Ok(Self { attempts, status, kind, subject: word()?.to_owned(), error: word()?.to_owned() })
    }
}

impl std::fmt::Display for DeliveryHead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
        write!(f, "{} {status} {} {} {}", self.attempts, self.kind, self.subject, self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_the_time_of_their_event() {
        let of = |ms, byte| DeliveryId::new(Millis(ms), &[byte; 32]);
        let ids = [of(1, 255), of(2, 0), of(1_790_000_000_000, 7), of(1_790_000_000_001, 6)];
        assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
        assert_eq!(ids.each_ref().map(|id| id.at().0), [1, 2, 1_790_000_000_000, 1_790_000_000_001]);
        assert_eq!(DeliveryId::parse(&ids[2].to_string()).as_ref(), Some(&ids[2]));
        for wrong in ["", "msg_", &ids[2].to_string()[4..], "msg_0123"] {
            assert_eq!(DeliveryId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn head_is_read_as_it_was_written() {
        for (status, error) in [(None, "connection refused"), (Some(204), ""), (Some(500), "the receiver answered 500")]
        {
            let (kind, subject) = ("job.completed".to_owned(), "q-0".to_owned());
            let head = DeliveryHead { attempts: 3, status, kind, subject, error: error.to_owned() };
            assert_eq!(DeliveryHead::parse(&head.to_string()).expect("a head"), head);
        }
        assert!(DeliveryHead::parse("1 200").is_err());
    }
}
