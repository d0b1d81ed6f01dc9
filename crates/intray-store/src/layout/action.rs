//! The list of operators' actions: what a call writes into it, and what is read of it.

use std::str;

use intray_redis::{Args, Fault};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::settings::setting;
use crate::{
    job::{Code, Millis, Name},
    redis::read::broken,
};

/// What the list keeps of a call. Steps of one action have equal notes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ActionNote {
    pub action: String,
    /// The name of the caller's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// The other parts of the call, except the place where it continues.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
}

/// Who makes a call: the name of their key for the events, and what the list of actions keeps of the call.
#[derive(Debug, Clone, Default)]
pub struct Actor {
    by: Option<Name>,
    /// JSON; empty for a call that is not listed.
    note: String,
}

/// A setting before and after. `Null` is the default.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingChange {
    pub name: String,
    pub from: Value,
    pub to: Value,
}

/// An entry of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionEntry {
    pub number: u64,
    /// When the first and the last step ran.
    pub began_at: Millis,
    pub at: Millis,
    /// How many jobs or deliveries.
    pub count: u64,
    pub note: ActionNote,
    pub changes: Vec<SettingChange>,
}

impl Actor {
    /// Without a `note` the call is not listed.
    pub fn new(by: Option<Name>, note: Option<&ActionNote>) -> Self {
        let note = note.and_then(|note| serde_json::to_string(note).ok()).unwrap_or_default();
        Self { by, note }
    }

    pub(crate) fn note(&self) -> &str {
        &self.note
    }

    /// The name of the key, then the note.
    pub(crate) fn push(&self, args: &mut Args) {
        args.push(self.by.as_ref().map_or("", Name::as_str)).push(&self.note);
    }
}

impl ActionEntry {
    pub(crate) fn parse(number: u64, entry: &[u8]) -> Result<Self, Fault> {
        read(number, entry).ok_or_else(|| broken("an action"))
    }

    /// The job's code, for a call on one job.
    pub fn job(&self) -> Option<Code> {
        Code::parse(self.note.job.as_deref()?)
    }
}

fn read(number: u64, entry: &[u8]) -> Option<ActionEntry> {
    let mut words = entry.splitn(5, |byte| *byte == b' ');
    let mut count = || str::from_utf8(words.next()?).ok()?.parse::<u64>().ok();
    let (began_at, at, jobs, length) = (Millis(count()?), Millis(count()?), count()?, count()?);
    let (note, mut changed) = words.next()?.split_at_checked(usize::try_from(length).ok()?)?;
    let mut changes = Vec::new();
    while !changed.is_empty() {
        let mut short = || {
            let (length, rest) = changed.split_first()?;
            let (text, rest) = rest.split_at_checked(usize::from(*length))?;
            changed = rest;
            str::from_utf8(text).ok()
        };
        let (name, from, to) = (short()?, short()?, short()?);
        changes.push(SettingChange { name: name.to_owned(), from: setting(name, from)?, to: setting(name, to)? });
    }
    let note = serde_json::from_slice(note).ok()?;
    Some(ActionEntry { number, began_at, at, count: jobs, note, changes })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entry_is_read_with_its_note_and_changes() {
        let note = ActionNote { action: "configure".to_owned(), by: Some("ops".to_owned()), ..ActionNote::default() };
        let actor = Actor::new(Name::parse("ops").ok(), Some(&note));
        let entry = format!("5 7 1 {} {}\x06paused\0\x011\x08lease_ms\x041000\0", actor.note.len(), actor.note);
        let read = ActionEntry::parse(3, entry.as_bytes()).expect("an entry");
        assert_eq!((read.number, read.began_at, read.at, read.count), (3, Millis(5), Millis(7), 1));
        assert_eq!(read.note, note);
        let changes = json!([
            { "name": "paused", "from": null, "to": true },
            { "name": "lease_ms", "from": 1000, "to": null },
        ]);
        assert_eq!(serde_json::to_value(read.changes).expect("JSON"), changes);
        for broken in ["", "5 7 1", "5 7 1 9 {}", "5 7 1 2 {}", "5 7 1 15 {\"action\":\"a\"}\x05pause"] {
            assert!(ActionEntry::parse(1, broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
