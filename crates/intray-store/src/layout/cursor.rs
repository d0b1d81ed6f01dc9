//! The cursor of a list: where a page ended.

use std::fmt;

use crate::job::{Code, Invalid};

/// Where a page ended. Opaque: hex of the place after which the list continues.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(Vec<u8>);

impl Cursor {
    pub const RULE: Invalid = Invalid("must be the `next` of a page");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let bytes = hex::decode(text).ok().filter(|bytes| (1..=512).contains(&bytes.len()));
        bytes.map(Self).ok_or(Self::RULE)
    }

    /// A cursor with these bytes; `None` if they are empty.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Option<Self> {
        (!bytes.is_empty()).then_some(Self(bytes))
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The cursor of a list of jobs.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn of_jobs(text: &str) -> Result<Self, Invalid> {
        let finite = |(score, _): (&str, &[u8])| score.parse().is_ok_and(f64::is_finite);
        Self::parse(text).ok().filter(|cursor| cursor.place().is_some_and(finite)).ok_or(Self::RULE)
    }

    /// The cursor of a list of batches. Its score may be infinite, for batches without a timer.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn of_batches(text: &str) -> Result<Self, Invalid> {
        Self::parse(text).ok().filter(|cursor| cursor.place().is_some()).ok_or(Self::RULE)
    }

    /// The parts before and after the first blank.
    pub(crate) fn split(&self) -> Option<(&str, &[u8])> {
        let cut = self.0.iter().position(|byte| *byte == b' ')?;
        Some((std::str::from_utf8(&self.0[..cut]).ok()?, &self.0[cut + 1..]))
    }

    /// A cursor from the bytes that [`Self::after`] makes.
    pub(crate) fn of_place(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.to_vec())).filter(|cursor| cursor.place().is_some())
    }

    /// The cursor after a member of a sorted set; `None` if the score is empty, at the end of the list.
    pub(crate) fn after(score: &str, member: &[u8]) -> Option<Self> {
        (!score.is_empty()).then(|| Self([score.as_bytes(), b" ", member].concat()))
    }

    /// The same in a list of ended jobs, with the number of jobs that had ended up to here, including removed ones.
    pub(crate) fn after_ended(score: &str, member: &[u8], ended: u64) -> Option<Self> {
        let counted = [format!("{MARK}{ended}{MARK}").as_bytes(), member].concat();
        Self::after(score, &counted)
    }

    /// The cursor after a job in the walk through batches: `lua/jobs/in_batches.lua`. `score`: of the batch's timer.
    pub(crate) fn in_batches(score: &str, code: Code) -> Option<Self> {
        Self::after(score, format!("{IN_BATCHES}{}", code.as_str()).as_bytes())
    }

    /// The number of jobs that had ended up to here, if the cursor has it.
    pub(crate) fn ended(&self) -> Option<u64> {
        let (_, member) = self.split()?;
        counted(member)?.0.parse().ok()
    }

    /// The score and the member, which ends in a code.
    pub(crate) fn place(&self) -> Option<(&str, &[u8])> {
        let (score, member) = self.split()?;
        let member = counted(member).map_or(member, |(_, member)| member);
        let code = member.len().checked_sub(Code::LEN).and_then(|cut| std::str::from_utf8(&member[cut..]).ok());
        let is_place = score.parse::<f64>().is_ok_and(|score| !score.is_nan()) && code.and_then(Code::parse).is_some();
        is_place.then_some((score, member))
    }
}

/// Encloses the number before a member. It sorts after every member, so an older version, which reads number and member as
/// one name, continues after the same job.
const MARK: char = '~';

/// Before the id of a job of a batch, in a list that goes on with the jobs of batches.
const IN_BATCHES: char = '#';

/// The number before a member, and the member.
fn counted(member: &[u8]) -> Option<(&str, &[u8])> {
    let rest = member.strip_prefix(&[MARK as u8])?;
    let end = rest.iter().position(|byte| *byte == MARK as u8)?;
    Some((std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..]))
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

crate::job::serialize_displayed!(Cursor);
