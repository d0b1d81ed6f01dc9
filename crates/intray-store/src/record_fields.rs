//! The one table of the fields of a job's records, in their order. The formats and offsets of the scripts are made from it, and the
//! readers in `layout` take their widths from it. Its modules hold all else that is packed by one side and read by the other.

pub(crate) mod batch_fields;
mod constants;
pub(crate) mod event_fields;
pub(crate) mod lease_marks;
pub(crate) mod reserve_fields;
pub(crate) mod route_parts;
pub(crate) mod task_fields;

pub(crate) use self::constants::constants;
use super::keys;
use crate::job::{Code, ids};

/// Flags of a job's record: the optional parts that it has, in this order, and what it is.
pub(crate) mod flags {
    /// Its payload has a field of its own.
    pub(crate) const EXTERNAL: u16 = 1;
    pub(crate) const CLIENT: u16 = 2;
    pub(crate) const DIGEST: u16 = 4;
    pub(crate) const FINGERPRINT: u16 = 8;
    pub(crate) const LEASE: u16 = 16;
    pub(crate) const ATTEMPTS: u16 = 32;
    pub(crate) const BACKOFF: u16 = 64;
    pub(crate) const TRACE: u16 = 128;
    /// It remembers an enqueue that met an equal job.
    pub(crate) const ALIAS: u16 = 256;
    pub(crate) const LOCKS: u16 = 512;
    pub(crate) const MEMBER: u16 = 1024;
    /// It may have an entry in `routes`.
    pub(crate) const ROUTED: u16 = 2048;

    pub(super) const ALL: [(&str, u16); 12] = [
        ("EXTERNAL", EXTERNAL),
        ("CLIENT", CLIENT),
        ("DIGEST", DIGEST),
        ("FINGERPRINT", FINGERPRINT),
        ("LEASE", LEASE),
        ("ATTEMPTS", ATTEMPTS),
        ("BACKOFF", BACKOFF),
        ("TRACE", TRACE),
        ("ALIAS", ALIAS),
        ("LOCKS", LOCKS),
        ("MEMBER", MEMBER),
        ("ROUTED", ROUTED),
    ];
}

/// The columns of the history before those of the totals.
pub(crate) const GAUGES: usize = 2;
/// The layout of both records, which their first byte holds.
pub(crate) const LAYOUT: u8 = keys::LAYOUT.as_bytes()[0] - b'0';

/// Big-endian. `width` in bytes; of a text, of the length before it.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    name: &'static str,
    pub(crate) width: usize,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Uint,
    Float,
    Bytes,
    Text,
}

const fn uint(name: &'static str, width: usize) -> Field {
    Field { name, width, kind: Kind::Uint }
}

const fn bytes(name: &'static str, width: usize) -> Field {
    Field { name, width, kind: Kind::Bytes }
}

const fn text(name: &'static str, width: usize) -> Field {
    Field { name, width, kind: Kind::Text }
}

/// A time in ms.
pub(crate) const TIME: Field = uint("time", 6);
/// The last time that fits.
pub(crate) const LAST_TIME: u64 = (1 << (8 * TIME.width)) - 1;
/// A name or a skill.
pub(crate) const SHORT: Field = text("short", 1);
/// A lock, an error, a reason, a credential.
pub(crate) const LONG: Field = text("long", 2);

pub(crate) const LAYOUT_FIELD: Field = uint("layout", 1);
pub(crate) const STAMP: Field = uint("stamp", 6);
pub(crate) const FLAGS: Field = uint("flags", 2);
pub(crate) const PRIORITY: Field = uint("priority", 1);
/// In an argument for a new job, in place of its priority: that of its batch.
pub(crate) const INHERITED: u8 = 255;
/// A job's record; then come the parts that its flags name. The head is written last: a new job arrives as the tail and its parts.
const RECORD: [Field; 4] = [LAYOUT_FIELD, STAMP, FLAGS, PRIORITY];
const HEAD: [Field; 2] = [LAYOUT_FIELD, STAMP];
const TAIL: [Field; 2] = [FLAGS, PRIORITY];
/// The number of stamps per ms of the queue's own clock.
pub(crate) const STAMPS_PER_MS: u64 = 64;

pub(crate) const DIGEST: Field = bytes("digest", 16);
pub(crate) const FINGERPRINT: Field = bytes("fingerprint", 8);
pub(crate) const LEASE_MS: Field = uint("lease_ms", 4);
pub(crate) const MAX_ATTEMPTS: Field = uint("max_attempts", 4);
pub(crate) const BACKOFF: [Field; 3] = [uint("kind", 1), uint("delay_ms", 4), uint("max_ms", 4)];
/// A `traceparent`, by W3C Trace Context.
pub(crate) const TRACE: Field = bytes("traceparent", 55);

pub(crate) const STATE: Field = uint("state", 1);
pub(crate) const SCORE: Field = Field { name: "score", width: 8, kind: Kind::Float };
pub(crate) const ARRIVAL: Field = uint("arrival", 6);
pub(crate) const COUNTER: usize = 4;
pub(crate) const LATE: Field = uint("late", 2);
/// The length of the lease, and the lease, if the job is reserved.
pub(crate) const LEASE: Field = text("lease", 1);
pub(crate) const HISTORY: Field = text("history", 2);
pub(crate) const ERRORS: Field = text("errors", 2);
/// Added to the priority in a live record: the job has not been reserved since it got its place.
pub(crate) const UNSERVED: u64 = 128;
/// A job's live record.
const LIVE: [Field; 17] = [
    LAYOUT_FIELD,
    STATE,
    SCORE,
    ARRIVAL,
    PRIORITY,
    uint("handed_out", COUNTER),
    uint("expired", COUNTER),
    uint("failed", COUNTER),
    uint("abandoned", COUNTER),
    uint("released", COUNTER),
    uint("attempts", COUNTER),
    LATE,
    LEASE,
    HISTORY,
    ERRORS,
    text("gate", 2),
    text("skips", 2),
];

pub(crate) const SECRET_DIGEST: Field = bytes("digest", ids::DIGEST_LEN);
pub(crate) const NONCE: Field = bytes("nonce", 16);
pub(crate) const RESERVED_AT: Field = uint("reserved_at", 6);
pub(crate) const RESUMES: Field = uint("resumes", 4);
pub(crate) const MARKS: Field = uint("marks", 1);
const WORKER: Field = text("worker", 1);
/// The live reservation.
const IN_LEASE: [Field; 8] =
    [bytes("secret", Code::LEN), SECRET_DIGEST, NONCE, RESERVED_AT, uint("ms", 4), RESUMES, MARKS, WORKER];

pub(crate) const CAUSE: Field = uint("cause", 1);
pub(crate) const ENDED_AT: Field = uint("ended_at", 6);
/// A reservation that has ended; several are in `history`.
const ENDED: [Field; 6] = [SECRET_DIGEST, CAUSE, ENDED_AT, RESERVED_AT, WORKER, text("note", 2)];
/// Its part that a late completion changes.
const ENDING: [Field; 3] = [SECRET_DIGEST, CAUSE, ENDED_AT];
/// An error of a job: when, its worker, its text; several are in `errors`.
const ERROR: [Field; 3] = [TIME, SHORT, LONG];
/// A late result: its reservation, when it came, its worker; then the result.
const LATE_RESULT: [Field; 3] = [SECRET_DIGEST, TIME, SHORT];

/// Where a field begins, counted from 1.
fn offset(fields: &[Field], name: &str) -> usize {
    let before = fields.iter().take_while(|field| field.name != name);
    before.map(|field| field.width).sum::<usize>() + 1
}

fn struct_format(fields: &[Field]) -> String {
    format!(">{}", fields.iter().map(Field::format).collect::<String>())
}

fn size(fields: &[Field]) -> usize {
    fields.iter().map(|field| field.width).sum()
}

impl Field {
    /// Writes a number.
    pub(crate) fn put(self, number: u64, out: &mut Vec<u8>) {
        out.extend(&number.to_be_bytes()[8 - self.width..]);
    }

    /// As `struct` of Redis names it.
    fn format(&self) -> String {
        let number = if self.width == 1 { "B".to_owned() } else { format!("I{}", self.width) };
        match self.kind {
            Kind::Uint => number,
            Kind::Float => "d".to_owned(),
            Kind::Bytes => format!("c{}", self.width),
            Kind::Text => number + "c0",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instances of several versions call the scripts of one, so a call keeps its form too.
    #[test]
    fn formats_of_calls_stay() {
        let constants = constants();
        let format = |name| constants.iter().find(|(own, _)| *own == name).expect(name).1.as_str();
        assert_eq!(format("RESERVE_FORMAT"), ">BI2I4c16Bc0I2c0");
        assert_eq!(format("RARE_FORMAT"), ">BI6I6");
        assert_eq!(format("VALID_FORMAT"), ">I6I6I2c0");
    }

    /// Records of layout 2 are in people's servers: a change here is a new layout, with a step in `migrations/`.
    #[test]
    fn formats_of_layout_2_stay() {
        let constants = constants();
        let format = |name| constants.iter().find(|(own, _)| *own == name).expect(name).1.as_str();
        assert_eq!(format("RECORD_FORMAT"), ">BI6I2B");
        assert_eq!(format("LIVE_FORMAT"), ">BBdI6BI4I4I4I4I4I4I2Bc0I2c0I2c0I2c0I2c0");
        assert_eq!(format("LEASE_FORMAT"), ">c26c8c16I6I4I4BBc0");
        assert_eq!(format("ENDED_FORMAT"), ">c8BI6I6Bc0I2c0");
        assert_eq!(format("ERROR_FORMAT"), ">I6Bc0I2c0");
        assert_eq!(format("LATE_FORMAT"), ">c8I6Bc0");
        assert_eq!(format("BATCH_FORMAT"), ">BBBBI6I6I6I4I4I4I4I4I4I4I4I4I4I4c8Bc0");
        assert_eq!(format("PART_FORMAT"), ">BI2c0");
        assert_eq!(format("HANDED_FORMAT"), ">I6I6Bc0Bc0");
    }
}
