//! The small world in which the sequences happen: few of everything, so that things meet.

use std::fmt::Debug;

use intray::{
    job::{Code, LockName, Name, Priority, Skill, State},
    payload::Json,
    store::StateCounts,
};
use proptest::{option::weighted, prelude::*};
use sha2::{Digest, Sha256};

/// The third has what JSON, Lua and UTF-8 know in ways of their own.
pub const WORKERS: [&str; 3] = ["ann", "bob", "c%y\"d\u{1f600}"];
/// More than the parts that a batch with an overlap keeps.
pub const GUESTS: [&str; 18] = [
    "g01", "g02", "g03", "g04", "g05", "g06", "g07", "g08", "g09", "g10", "g11", "g12", "g13", "g14", "g15", "g16",
    "g17", "g18",
];
/// Jobs without a client have the client "".
pub const CLIENTS: [&str; 3] = ["", "a", "b\\'\u{e9}"];
/// The third has the first as a prefix.
pub const LOCKS: [&str; 3] = ["l", "m%d\"", "l2\u{e9}"];
/// The second has the first as a prefix, and the third is a worker's name.
pub const SKILLS: [&str; 3] = ["de", "de2\u{e9}%", "ann"];
pub const KEYS: [&str; 2] = ["k1", "k2\u{1f600}\"%"];
pub const RESULTS: [&str; 3] = ["", "1", r#"{"ok":true}"#];
/// The first removes the draft.
pub const DRAFTS: [&str; 3] = ["null", r#""half a""#, r#"{"text":"half a sentence"}"#];
pub const PRIORITIES: [u8; 4] = [50, 10, 99, 0];
pub const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// The queue's own clock has so many stamps to a ms.
pub const STAMPS: u64 = 64;

/// Each payload and what makes it the same as another. The first two are the same; the last is too large for a record.
pub static PAYLOADS: [(&str, &str); 4] = [
    (r#"{"a":1,"b":[2]}"#, r#"{"a":1,"b":[2]}"#),
    (r#"{ "b" : [ 2 ], "a" : 1 }"#, r#"{"a":1,"b":[2]}"#),
    ("\"x\u{7f}\u{e9}\"", "\"x\u{7f}\u{e9}\""),
    (LARGE, LARGE),
];
const LARGE: &str = {
    const TEXT: [u8; 1_100] = {
        let mut text = [b'7'; 1_100];
        text[0] = b'"';
        text[1_099] = b'"';
        text
    };
    match std::str::from_utf8(&TEXT) {
        Ok(text) => text,
        Err(_) => panic!("ASCII"),
    }
};

/// What makes a payload the same as another.
pub fn canonical(payload: &str) -> &'static str {
    PAYLOADS.iter().find(|(text, _)| *text == payload).expect("a payload of ours").1
}

pub fn json(text: &str) -> Json {
    Json::from_text(text.to_owned()).expect("JSON")
}

/// A draft, or none.
pub fn draft() -> impl Strategy<Value = Option<&'static str>> {
    weighted(0.4, prop_oneof![1 => Just(0), 4 => 1..DRAFTS.len()]).prop_map(|n| n.map(|n| DRAFTS[n]))
}

pub fn locks(names: &[&str]) -> Vec<LockName> {
    names.iter().map(|name| LockName::parse(name).expect("a lock")).collect()
}

/// The constant that equals a text of the queue.
pub fn known(list: &[&'static str], text: &str) -> &'static str {
    list.iter().find(|word| **word == text).unwrap_or_else(|| panic!("unknown text: {text:?}"))
}

pub fn client(name: Option<&Name>) -> &'static str {
    known(&CLIENTS, name.map_or("", Name::as_str))
}

pub fn trace(traced: bool) -> Option<String> {
    traced.then(|| TRACE.to_owned())
}

/// "" is unnamed.
pub fn name(text: &str) -> Option<Name> {
    (!text.is_empty()).then(|| Name::parse(text).expect("a name"))
}

pub fn skill(text: &str) -> Skill {
    Skill::parse(text).expect("a skill")
}

pub fn priority(value: u8) -> Priority {
    Priority::new(value.into()).expect("a priority")
}

/// What the job remembers of an ended reservation.
pub fn secret_digest(secret: &Code) -> [u8; 8] {
    let digest = Sha256::digest(secret.as_str());
    std::array::from_fn(|i| digest[i])
}

/// The key under which a client's jobs are the same: `k` and a key, or `p` and a payload.
pub fn dedupe_digest(client: &str, kind: char, what: &str) -> [u8; 16] {
    let digest = Sha256::digest(format!("{client}\0{kind}\0{what}"));
    std::array::from_fn(|i| digest[i])
}

/// The set that holds the jobs of a state.
pub fn set_of(state: State) -> &'static str {
    match state {
        State::Waiting => "inbound",
        State::Blocked => "parked",
        State::Delayed => "delayed",
        State::Reserved => "reserved",
        State::Dead => "dead",
        State::Completed | State::Cancelled => "ended",
    }
}

pub fn count(states: impl Iterator<Item = State>) -> StateCounts {
    let mut counts = StateCounts::default();
    for state in states {
        *match state {
            State::Waiting => &mut counts.waiting,
            State::Blocked => &mut counts.blocked,
            State::Delayed => &mut counts.delayed,
            State::Reserved => &mut counts.reserved,
            State::Completed => &mut counts.completed,
            State::Dead => &mut counts.dead,
            State::Cancelled => &mut counts.cancelled,
        } += 1;
    }
    counts
}

/// Whether the queue does as the model says; if not, what was different.
pub type Verdict = Result<(), String>;

pub fn same<T: PartialEq + Debug>(what: &str, real: &T, expected: &T) -> Verdict {
    if real == expected { Ok(()) } else { Err(format!("{what}\n  the model: {expected:?}\n  the queue: {real:?}")) }
}

/// Compares by the debug text, for types without equality.
pub struct ByDebug<T>(pub T);

impl<T: Debug> Debug for ByDebug<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Debug> PartialEq for ByDebug<T> {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

pub fn same_debug<T: Debug>(what: &str, real: &T, expected: &T) -> Verdict {
    same(what, &ByDebug(real), &ByDebug(expected))
}
