//! The entries of `routes`: of a job, who may have it and by when; of a batch with an overlap, who has had a job of it.

use intray::{
    job::{Code, Line, Millis, Name},
    store::{HandedTo, JobRoute},
};

use super::record::{Bytes, plain};
use crate::fixtures::{name, skill};

/// How, the job, and the worker.
pub type PartRow = (u8, String, String);

/// The route of a job, its overlap, and where its reservation would end if it did not expire before: parts, each after a tag and a length.
pub fn read_route(raw: &[u8]) -> Result<(JobRoute, u8, Option<u64>), String> {
    let (mut bytes, mut route, mut overlap, mut uncut) = (Bytes(raw), JobRoute::default(), 0, None);
    while !bytes.0.is_empty() {
        match (bytes.uint(1)?, bytes.uint(2)?) {
            (1, 6) => route.expires_at = Some(Millis(bytes.uint(6)?)),
            (2, 6) => route.sla_at = Some(Millis(bytes.uint(6)?)),
            (3, 1) => {
                let marks = bytes.uint(1)?;
                (route.breached, route.is_over, route.fell_back) = (marks & 1 != 0, marks & 2 != 0, marks & 4 != 0);
            }
            (4, length) => route.assignees = names(Bytes(bytes.take(length as usize)?))?,
            (5, length) => route.excluded = names(Bytes(bytes.take(length as usize)?))?,
            (6, length) => route.skill = Some(skill(&plain(bytes.take(length as usize)?))),
            (7, 4) => route.fallback_ms = Some(bytes.int()?),
            (8, 6) => route.fallback_at = Some(Millis(bytes.uint(6)?)),
            (9, length) => route.handed = Some(read_hand_over(Bytes(bytes.take(length as usize)?))?),
            (10, 1) => overlap = bytes.uint(1)? as u8,
            (12, 6) => uncut = Some(bytes.uint(6)?),
            part => return Err(format!("{part:?} is no part of a route")),
        }
    }
    Ok((route, overlap, uncut))
}

fn names(bytes: Bytes<'_>) -> Result<Vec<Name>, String> {
    Ok(bytes.texts()?.iter().filter_map(|text| name(text)).collect())
}

/// Until and since when, the line, who handed the job over, and the note.
fn read_hand_over(mut bytes: Bytes<'_>) -> Result<HandedTo, String> {
    let (until, at) = (Millis(bytes.uint(6)?), Millis(bytes.uint(6)?));
    let line = Line::parse(&bytes.text(1)?).map_err(|_| "a hand-over names no line")?;
    let (from, note) = (name(&bytes.text(1)?), plain(bytes.0));
    Ok(HandedTo { line, until, from, at, note: Some(note).filter(|note| !note.is_empty()) })
}

/// The parts in a batch, the newest last.
pub fn read_parts(raw: &[u8]) -> Result<Vec<PartRow>, String> {
    const PARTS: u64 = 11;
    let (mut bytes, mut parts) = (Bytes(raw), Vec::new());
    let (tag, length) = (bytes.uint(1)?, bytes.uint(2)? as usize);
    if tag != PARTS || length != bytes.0.len() {
        return Err(format!("{raw:?} are no parts in a batch"));
    }
    while !bytes.0.is_empty() {
        parts.push((bytes.uint(1)? as u8, plain(bytes.take(Code::LEN)?), bytes.text(1)?));
    }
    Ok(parts)
}
