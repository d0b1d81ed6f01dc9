//! The words of the domain. A value that exists here is valid: each type is made by a parser that says its rule.

pub mod limits;

use std::{fmt, sync::Arc};

use serde::Serialize;

/// Why a piece of text is not the value it was meant to be. The text is the rule, fit for an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub &'static str);

/// A named stream of jobs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueName(Arc<str>);

impl QueueName {
    pub const RULE: Invalid =
        Invalid("must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-', and neither '.' nor '..'");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::QUEUE_NAME).contains(&text.len()) && !is_a_way(text);
        let clean = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if fits && clean { Ok(Self(text.into())) } else { Err(Self::RULE) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for QueueName {
    fn default() -> Self {
        Self("default".into())
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// 128 bits as 26 characters of Crockford's base 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code([u8; Code::LEN]);

impl Code {
    pub const LEN: usize = 26;
    const TAIL: u128 = (1 << 20) - 1;

    pub fn from_bits(bits: u128) -> Self {
        let mut text = [0; Self::LEN];
        ulid::Ulid(bits).array_to_str(&mut text);
        Self(text)
    }

    /// Only the canonical form passes: upper case, and no letter that merely looks like a digit.
    pub fn parse(text: &str) -> Option<Self> {
        let bits = ulid::Ulid::from_string(text).ok()?.0;
        let code = Self::from_bits(bits);
        (code.as_str() == text).then_some(code)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("Crockford's alphabet is ASCII")
    }

    /// The last four digits: 20 bits.
    fn tail(&self) -> u32 {
        (self.bits() & Self::TAIL) as u32
    }

    /// The same code with other last four digits.
    pub fn with_tail(&self, tail: u32) -> Self {
        Self::from_bits(self.bits() & !Self::TAIL | u128::from(tail) & Self::TAIL)
    }

    fn bits(&self) -> u128 {
        ulid::Ulid::from_string(self.as_str()).expect("it was made of a code").0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `<queue>-<26 characters>`: an id alone finds its queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId {
    pub queue: QueueName,
    /// What Redis knows the job by, inside its queue.
    pub code: Code,
}

impl JobId {
    pub const RULE: Invalid = Invalid("must be a job id: <queue>-<26 characters>");

    /// Parsed from the right, as a queue's name may hold `-`.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let (rest, code) = split_code(text).ok_or(Self::RULE)?;
        let queue = rest.strip_suffix('-').ok_or(Self::RULE)?;
        Ok(Self { queue: QueueName::parse(queue).map_err(|_| Self::RULE)?, code })
    }

    /// The batch that it belongs to, if it belongs to one: an id alone does not tell.
    pub fn batch(&self) -> BatchId {
        BatchId { queue: self.queue.clone(), code: self.code.with_tail(0) }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.queue, self.code.as_str())
    }
}

/// `<queue>-<26 characters>`, the last four `0000`. The ids of its jobs count on from there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId {
    pub queue: QueueName,
    pub code: Code,
}

impl BatchId {
    pub const RULE: Invalid = Invalid("must be a batch id: <queue>-<22 characters>0000");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let JobId { queue, code } = JobId::parse(text).map_err(|_| Self::RULE)?;
        if code.tail() == 0 { Ok(Self { queue, code }) } else { Err(Self::RULE) }
    }

    /// The id of one of its jobs, counted from 0.
    pub fn member(&self, index: u32) -> JobId {
        JobId { queue: self.queue.clone(), code: self.code.with_tail(index + 1) }
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.queue, self.code.as_str())
    }
}

/// `<job id>.<26 characters>`: one hand-out of one job, and the only credential to settle it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Reservation {
    pub job: JobId,
    pub secret: Code,
}

impl Reservation {
    pub const RULE: Invalid = Invalid("must be a reservation, as POST /jobs/reserve gave it: <job id>.<26 characters>");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let (rest, secret) = split_code(text).ok_or(Self::RULE)?;
        let job = rest.strip_suffix('.').ok_or(Self::RULE)?;
        Ok(Self { job: JobId::parse(job).map_err(|_| Self::RULE)?, secret })
    }

    /// The credential in words. It is not `Display`, so that none gets into a log by accident.
    pub fn reveal(&self) -> String {
        format!("{}.{}", self.job, self.secret.as_str())
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.…", self.job)
    }
}

fn split_code(text: &str) -> Option<(&str, Code)> {
    let cut = text.len().checked_sub(Code::LEN)?;
    let (rest, code) = text.split_at_checked(cut)?;
    Some((rest, Code::parse(code)?))
}

/// In a path such a name leads elsewhere, however it is encoded: no browser can address it.
fn is_a_way(name: &str) -> bool {
    matches!(name, "." | "..")
}

/// A name from outside: a worker or a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    pub const RULE: Invalid = Invalid("must be 1 to 128 bytes of text without control characters");
    pub const WORKERS_RULE: Invalid =
        Invalid("must be 1 to 128 bytes of text without control characters, and neither '.' nor '..'");

    /// A name that can stand in a path.
    ///
    /// # Errors
    /// [`Self::WORKERS_RULE`].
    pub fn of_worker(text: &str) -> Result<Self, Invalid> {
        let name = Self::parse(text).ok().filter(|_| !is_a_way(text));
        name.ok_or(Self::WORKERS_RULE)
    }

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::NAME).contains(&text.len());
        if fits && !text.chars().any(char::is_control) { Ok(Self(text.into())) } else { Err(Self::RULE) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name within a queue: of the jobs that share it, one is reserved at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockName(Arc<str>);

impl LockName {
    pub const RULE: Invalid = Invalid("must be 1 to 256 bytes of text without control characters");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::KEY).contains(&text.len());
        if fits && !text.chars().any(char::is_control) { Ok(Self(text.into())) } else { Err(Self::RULE) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// 0 is the most urgent, 99 the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Priority(u8);

impl Priority {
    pub const RULE: Invalid = Invalid("must be a whole number from 0 (most urgent) to 99");

    /// # Errors
    /// [`Self::RULE`].
    pub fn new(value: u64) -> Result<Self, Invalid> {
        u8::try_from(value).ok().filter(|&p| p <= limits::PRIORITY).map(Self).ok_or(Self::RULE)
    }

    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(50)
    }
}

/// Where a job is. It is in exactly one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Waiting,
    Blocked,
    Delayed,
    Reserved,
    Completed,
    Dead,
    Cancelled,
}

impl State {
    pub const ALL: [Self; 7] =
        [Self::Waiting, Self::Blocked, Self::Delayed, Self::Reserved, Self::Completed, Self::Dead, Self::Cancelled];

    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Delayed => "delayed",
            Self::Reserved => "reserved",
            Self::Completed => "completed",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.word() == word)
    }

    /// Nobody is given it any more, unless it is requeued.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Dead | Self::Cancelled)
    }
}

/// How far a batch has come. The last three are written once and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchState {
    /// More jobs may come.
    Open,
    Sealed,
    Completed,
    /// Over, and at least one of its jobs is dead.
    Failed,
    Cancelled,
}

impl BatchState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Sealed => "sealed",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// It never changes again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// How one reservation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    Expired,
    Abandoned,
    Failed,
    Released,
    Cancelled,
    Completed,
    /// It is none of the reservations that the job remembers, or the job is gone.
    Unknown,
}

impl Ending {
    pub const ALL: [Self; 7] =
        [Self::Expired, Self::Abandoned, Self::Failed, Self::Released, Self::Cancelled, Self::Completed, Self::Unknown];

    pub fn word(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Abandoned => "abandoned",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::Cancelled => "cancelled",
            Self::Completed => "completed",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|e| e.word() == word)
    }
}

/// How long a job rests after a fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    None,
    Fixed { delay_ms: u32 },
    Exponential { delay_ms: u32, max_ms: u32 },
}

/// Milliseconds since 1970 by Redis's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl Millis {
    /// Zero when the other is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_parsed_from_the_right() {
        let text = "a-b.c-01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let id = JobId::parse(text).expect("valid");
        assert_eq!(id.queue.as_str(), "a-b.c");
        assert_eq!(id.to_string(), text);
        let reservation = Reservation::parse(&format!("{text}.7ZZZZZZZZZZZZZZZZZZZZZZZZZ")).expect("valid");
        assert_eq!(reservation.job, id);
        assert!(!format!("{reservation:?}").contains("7ZZZ"), "a secret is not printed");
    }

    #[test]
    fn only_canonical_codes_pass() {
        for wrong in ["01arz3ndektsv4rrffq69g5fav", "O1ARZ3NDEKTSV4RRFFQ69G5FAV", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "", "é"]
        {
            assert!(Code::parse(wrong).is_none(), "{wrong}");
        }
        assert!(JobId::parse("-01ARZ3NDEKTSV4RRFFQ69G5FAV").is_err());
        assert!(JobId::parse("q_01ARZ3NDEKTSV4RRFFQ69G5FAV").is_err());
    }

    #[test]
    fn names_hold_no_control_characters() {
        assert!(Name::parse("ann@example.org ü").is_ok());
        for wrong in ["", "a\0b", "a\nb", "\u{7f}", &"x".repeat(129)] {
            assert!(Name::parse(wrong).is_err());
        }
    }
}
