//! The records of a job, read as the scripts pack them: big-endian, lengths before texts. Stories and model read them here.

use intray::{
    job::{Backoff, Code, State},
    store::HandoutCounts,
};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    pub is_stub: bool,
    /// The payload lives apart.
    pub is_apart: bool,
    pub stamp: u64,
    pub priority: u8,
    pub client: String,
    pub digest: Option<Vec<u8>>,
    pub fingerprint: Option<Vec<u8>>,
    pub lease_ms: Option<u32>,
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
    pub trace: String,
    pub locks: Vec<String>,
    pub is_member: bool,
    pub is_routed: bool,
    /// The payload; of a stub, its twin and the twin's state.
    pub rest: String,
}

/// All that changes. A job without such a record waits and has never been touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    pub state: State,
    /// In line or out of it.
    pub place: Option<u64>,
    pub arrival: u64,
    pub is_unserved: bool,
    pub priority: u8,
    pub counts: HandoutCounts,
    pub attempts: u32,
    pub late: u16,
    pub hold: Option<Hold>,
    pub ring: Vec<Ended>,
    pub errors: Vec<(u64, String, String)>,
    pub gate: String,
    pub skips: Vec<String>,
}

/// A place is this many times the priority, and the turn.
pub const SPAN: u64 = 1 << 46;
/// The layout that both records say they have.
const LAYOUT: u64 = 2;
/// Next to the priority: nobody has had the job since it got its place.
const UNSERVED: u8 = 128;

/// Marks of a reservation: it ends by grace; its call was answered twice; when it ends by grace, that was a skip.
pub const GRACE: u8 = 1;
pub const REPLAYED: u8 = 2;
pub const SKIPS: u8 = 4;
/// Its worker has completed the job, and may take that back; they have once.
pub const CLOSING: u8 = 8;
pub const UNDONE: u8 = 16;
/// Once for each resume since then.
pub const RESUMED: u8 = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub secret: String,
    pub digest: Vec<u8>,
    pub nonce: Vec<u8>,
    pub reserved_at: u64,
    pub lease_ms: u32,
    pub resumes: u32,
    pub marks: u8,
    pub worker: String,
}

/// Digest of the secret, cause, ended at, reserved at, worker, note.
pub type Ended = (Vec<u8>, u8, u64, u64, String, String);

impl Header {
    pub fn read(raw: &[u8]) -> Result<Self, String> {
        let mut bytes = Bytes(raw);
        bytes.layout()?;
        let stamp = bytes.uint(6)?;
        let flags = bytes.uint(2)?;
        let has = |flag: u64| flags & flag != 0;
        let (is_apart, is_stub, priority) = (has(1), has(256), bytes.uint(1)? as u8);
        let mut header = Self { is_apart, is_stub, stamp, priority, ..Self::default() };
        if has(2) {
            header.client = bytes.text(1)?;
        }
        header.digest = has(4).then(|| bytes.take(16)).transpose()?.map(<[u8]>::to_vec);
        header.fingerprint = has(8).then(|| bytes.take(8)).transpose()?.map(<[u8]>::to_vec);
        header.lease_ms = has(16).then(|| bytes.int()).transpose()?;
        header.max_attempts = has(32).then(|| bytes.int()).transpose()?;
        header.backoff = has(64).then(|| bytes.backoff()).transpose()?;
        if has(128) {
            header.trace = plain(bytes.take(55)?);
        }
        let count = if has(512) { bytes.uint(1)? } else { 0 };
        header.locks = (0..count).map(|_| bytes.text(2)).collect::<Result<_, _>>()?;
        header.is_member = has(1024);
        header.is_routed = has(2048);
        if header.is_member {
            // It distinguishes the same append from another, and is the program's own.
            header.fingerprint = None;
        }
        if header.is_stub {
            header.rest = format!("{} {}", plain(bytes.take(Code::LEN)?), bytes.state()?.word());
            // In what they differ is compared when the call is repeated.
            bytes.take(2)?;
        }
        header.rest += &plain(bytes.0);
        Ok(header)
    }
}

impl Live {
    pub fn read(raw: &[u8]) -> Result<Self, String> {
        let mut bytes = Bytes(raw);
        bytes.layout()?;
        let state = bytes.state()?;
        let score = f64::from_bits(bytes.uint(8)?);
        let (arrival, priority) = (bytes.uint(6)?, bytes.uint(1)? as u8);
        let (is_unserved, priority) = (priority >= UNSERVED, priority % UNSERVED);
        let [handed_out, expired, failed, abandoned, released] =
            [bytes.int()?, bytes.int()?, bytes.int()?, bytes.int()?, bytes.int()?];
        let (attempts, late) = (bytes.int()?, bytes.uint(2)? as u16);
        let hold = bytes.blob(1)?;
        let (mut ring, mut entries) = (Vec::new(), Bytes(bytes.blob(2)?));
        while !entries.0.is_empty() {
            let (digest, how) = (entries.take(8)?.to_vec(), entries.uint(1)? as u8);
            ring.push((digest, how, entries.uint(6)?, entries.uint(6)?, entries.text(1)?, entries.text(2)?));
        }
        let (mut errors, mut notes) = (Vec::new(), Bytes(bytes.blob(2)?));
        while !notes.0.is_empty() {
            errors.push((notes.uint(6)?, notes.text(1)?, notes.text(2)?));
        }
        let mut live = Self {
            state,
            place: (score >= 0.0).then_some(score as u64),
            arrival,
            is_unserved,
            priority,
            counts: HandoutCounts { handed_out, expired, failed, abandoned, released },
            attempts,
            late,
            hold: if hold.is_empty() { None } else { Some(Hold::read(hold)?) },
            ring,
            errors,
            gate: bytes.text(2)?,
            skips: Bytes(bytes.blob(2)?).texts()?,
        };
        // Whatever the field holds: a place says the priority. For a batch's ended job it is when that was, though.
        if !matches!(state, State::Completed | State::Cancelled) {
            live.priority = live.place.map_or(priority, |place| (place / SPAN) as u8);
        }
        if bytes.0.is_empty() { Ok(live) } else { Err(format!("a live record is too long by {:?}", bytes.0)) }
    }

    pub fn untouched(place: Option<u64>, priority: u8, arrival: u64) -> Self {
        Self {
            state: State::Waiting,
            place,
            arrival,
            is_unserved: place.is_some(),
            priority,
            counts: HandoutCounts::default(),
            attempts: 0,
            late: 0,
            hold: None,
            ring: Vec::new(),
            errors: Vec::new(),
            gate: String::new(),
            skips: Vec::new(),
        }
    }
}

impl Hold {
    fn read(raw: &[u8]) -> Result<Self, String> {
        let mut bytes = Bytes(raw);
        Ok(Self {
            secret: plain(bytes.take(Code::LEN)?),
            digest: bytes.take(8)?.to_vec(),
            nonce: bytes.take(16)?.to_vec(),
            reserved_at: bytes.uint(6)?,
            lease_ms: bytes.int()?,
            resumes: bytes.int()?,
            marks: bytes.uint(1)? as u8,
            worker: bytes.text(1)?,
        })
    }
}

pub struct Bytes<'b>(pub &'b [u8]);

impl<'b> Bytes<'b> {
    pub fn take(&mut self, n: usize) -> Result<&'b [u8], String> {
        let (head, rest) = self.0.split_at_checked(n).ok_or("a record is too short")?;
        self.0 = rest;
        Ok(head)
    }

    fn layout(&mut self) -> Result<(), String> {
        let found = self.uint(1)?;
        if found == LAYOUT { Ok(()) } else { Err(format!("a record has layout {found}")) }
    }

    pub fn uint(&mut self, width: usize) -> Result<u64, String> {
        Ok(self.take(width)?.iter().fold(0, |n, &byte| n << 8 | u64::from(byte)))
    }

    pub fn int(&mut self) -> Result<u32, String> {
        Ok(self.uint(4)? as u32)
    }

    fn blob(&mut self, width: usize) -> Result<&'b [u8], String> {
        let length = self.uint(width)?;
        self.take(length as usize)
    }

    pub fn text(&mut self, width: usize) -> Result<String, String> {
        self.blob(width).map(plain)
    }

    /// All that is left, short texts one after the other.
    pub fn texts(mut self) -> Result<Vec<String>, String> {
        let mut texts = Vec::new();
        while !self.0.is_empty() {
            texts.push(self.text(1)?);
        }
        Ok(texts)
    }

    fn state(&mut self) -> Result<State, String> {
        let number = self.uint(1)? as usize;
        number.checked_sub(1).and_then(|n| State::ALL.get(n)).copied().ok_or(format!("{number} is no state"))
    }

    fn backoff(&mut self) -> Result<Backoff, String> {
        let (kind, delay_ms, max_ms) = (self.uint(1)?, self.int()?, self.int()?);
        Ok(match kind {
            0 => Backoff::None,
            1 => Backoff::Fixed { delay_ms },
            _ => Backoff::Exponential { delay_ms, max_ms },
        })
    }
}

pub fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
