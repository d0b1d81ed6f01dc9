//! Codes, and the ids and credentials that contain them.

use std::fmt;

use super::{Invalid, QueueName};

/// 128 bits as 26 characters of Crockford's base 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code([u8; Code::LEN]);

impl Code {
    pub const LEN: usize = 26;
    /// The last digits, which number the jobs of a batch.
    pub const TAIL_LEN: usize = 4;
    const TAIL: u128 = (1 << (5 * Self::TAIL_LEN)) - 1;
    /// In the order of their values.
    pub const DIGITS: [u8; 32] = *b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const IS_DIGIT: [bool; 256] = {
        let (mut table, mut i) = ([false; 256], 0);
        while i < Self::DIGITS.len() {
            table[Self::DIGITS[i] as usize] = true;
            i += 1;
        }
        table
    };

    pub fn from_bits(bits: u128) -> Self {
        let mut text = [0; Self::LEN];
        ulid::Ulid(bits).array_to_str(&mut text);
        Self(text)
    }

    /// Accepts only the canonical form: upper case, no letters that look like digits, at most 128 bits.
    pub fn parse(text: &str) -> Option<Self> {
        let code: [u8; Self::LEN] = text.as_bytes().try_into().ok()?;
        let is_code = code[0] <= b'7' && code.iter().all(|&byte| Self::IS_DIGIT[usize::from(byte)]);
        is_code.then_some(Self(code))
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("Crockford's alphabet is ASCII")
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The last four digits: 20 bits.
    fn tail(&self) -> u32 {
        (self.bits() & Self::TAIL) as u32
    }

    /// The same code with other last four digits.
    pub fn with_tail(&self, tail: u32) -> Self {
        Self::from_bits(self.bits() & !Self::TAIL | u128::from(tail) & Self::TAIL)
    }

    pub fn bits(&self) -> u128 {
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
    /// The key of the job inside its queue.
    pub code: Code,
}

impl JobId {
    pub const RULE: Invalid = Invalid("must be a job id: <queue>-<26 characters>");

    /// Parses from the right, because the name of a queue may contain `-`.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let (rest, code) = split_code(text).ok_or(Self::RULE)?;
        let queue = rest.strip_suffix('-').ok_or(Self::RULE)?;
        Ok(Self { queue: QueueName::parse(queue).map_err(|_| Self::RULE)?, code })
    }

    /// The id of the job's batch, if it is in one. The id alone does not say whether it is.
    pub fn batch(&self) -> BatchId {
        BatchId { queue: self.queue.clone(), code: self.code.with_tail(0) }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.queue.as_str())?;
        f.write_str("-")?;
        f.write_str(self.code.as_str())
    }
}

/// `<queue>-<26 characters>`, the last four `0000`. The ids of its jobs count up from there.
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
        f.write_str(self.queue.as_str())?;
        f.write_str("-")?;
        f.write_str(self.code.as_str())
    }
}

/// `<job id>.<26 characters>`: one hand-out of a job, and the only credential that can settle it.
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

    /// The credential as text. It is not `Display`, so that it does not get into a log by accident.
    pub fn reveal(&self) -> String {
        [self.job.queue.as_str(), "-", self.job.code.as_str(), ".", self.secret.as_str()].concat()
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.…", self.job)
    }
}

crate::serialize_displayed!(JobId, BatchId);

fn split_code(text: &str) -> Option<(&str, Code)> {
    let cut = text.len().checked_sub(Code::LEN)?;
    let (rest, code) = text.split_at_checked(cut)?;
    Some((rest, Code::parse(code)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_id_is_parsed_from_the_right() {
        let text = "a-b.c-01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let id = JobId::parse(text).expect("valid");
        assert_eq!(id.queue.as_str(), "a-b.c");
        assert_eq!(id.to_string(), text);
        let reservation = Reservation::parse(&format!("{text}.7ZZZZZZZZZZZZZZZZZZZZZZZZZ")).expect("valid");
        assert_eq!(reservation.job, id);
        assert!(!format!("{reservation:?}").contains("7ZZZ"), "a secret is not printed");
    }

    #[test]
    fn codes_that_are_not_canonical_are_rejected() {
        for wrong in ["01arz3ndektsv4rrffq69g5fav", "O1ARZ3NDEKTSV4RRFFQ69G5FAV", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "", "é"]
        {
            assert!(Code::parse(wrong).is_none(), "{wrong}");
        }
        assert!(JobId::parse("-01ARZ3NDEKTSV4RRFFQ69G5FAV").is_err());
        assert!(JobId::parse("q_01ARZ3NDEKTSV4RRFFQ69G5FAV").is_err());
    }
}
