//! The final state against the streams.

use std::collections::{HashMap, HashSet};

use intray::job::{EventKind, State};

use super::{
    index::Index,
    legal::{self, Place},
};
use crate::record::{End, batch_of, queue_of};

pub fn nothing_lost(index: &Index) -> Vec<String> {
    let ends: HashMap<&str, &End> = index.history.ends.iter().map(|end| (end.queue.as_str(), end)).collect();
    let batches: HashSet<&str> =
        index.history.ends.iter().flat_map(|end| &end.batches).map(|it| it.id.as_str()).collect();
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        if !ends.contains_key(queue_of(id)) {
            continue; // still running when the history ended
        }
        let place = legal::last(&trace.events);
        let has_gone = trace.is_member() && !batches.contains(batch_of(id).as_str());
        let may_go = match place {
            Place::Nowhere => true,
            Place::Completed | Place::Cancelled => !index.keeps(queue_of(id)) || has_gone,
            Place::Dead => !index.keeps(queue_of(id)) && has_gone,
            Place::InLine | Place::Out | Place::Closing => false,
        };
        match trace.end {
            Some(end) if State::parse(&end.state).map(place_of) != Some(place) => {
                found.push(format!("{id} is {}, and by its events {place:?}", end.state));
            }
            None if !may_go => found.push(format!("{id} was {place:?}, and is not there")),
            Some(_) | None => {}
        }
    }
    found
}

fn place_of(state: State) -> Place {
    match state {
        State::Waiting | State::Blocked | State::Delayed => Place::InLine,
        State::Reserved => Place::Out,
        State::Completed => Place::Completed,
        State::Dead => Place::Dead,
        State::Cancelled => Place::Cancelled,
    }
}

/// The final feed, and the feed as read by a reader that followed its cursor throughout.
pub fn feed(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for end in index.history.ends.iter().filter(|end| index.keeps(&end.queue)) {
        let events = index.events.get(end.queue.as_str()).into_iter().flatten();
        let completed = events.filter(|event| event.kind == EventKind::Completed.word() && event.batch.is_none());
        let streamed: Vec<&str> = completed.filter_map(|event| event.job.as_deref()).collect();
        let kept: Vec<&str> = end.feed.iter().map(String::as_str).collect();
        let pages = index.history.feeds.iter().filter(|(queue, _)| *queue == end.queue);
        let read: Vec<&str> = pages.flat_map(|(_, ids)| ids).map(String::as_str).collect();
        if let Some(at) = difference(&streamed, &kept) {
            found.push(format!(
                "{}: at {at} of {}: in the stream {:?}, stored {:?}",
                end.queue,
                streamed.len(),
                streamed.get(at),
                kept.get(at)
            ));
        }
        if let Some(at) = difference(&streamed, &read).filter(|&at| at < read.len()) {
            found.push(format!(
                "{}: at {at}: in the stream {:?}, read {:?}",
                end.queue,
                streamed.get(at),
                read.get(at)
            ));
        }
    }
    found
}

/// What a webhook's receiver was sent, or what is listed for it, against the streams.
pub fn delivered(index: &Index) -> Vec<String> {
    let Some(delivered) = &index.history.delivered else { return Vec::new() };
    let delivered: HashSet<&str> = delivered.iter().map(String::as_str).collect();
    let is_completed =
        |events: &[&crate::record::Event]| events.iter().any(|event| event.kind == EventKind::Completed.word());
    let completed: HashSet<&str> =
        index.jobs.iter().filter(|(_, trace)| is_completed(&trace.events)).map(|(id, _)| *id).collect();
    let missing = completed.difference(&delivered).map(|id| format!("{id} was completed, and its webhook never came"));
    missing
        .chain(delivered.difference(&completed).map(|id| format!("{id} was delivered, and never completed")))
        .collect()
}

/// A webhook for a completion that can be taken back is sent when it is final.
pub fn posted(index: &Index) -> Vec<String> {
    let is_sendable = |name: &str| {
        let kind = name.split_once('.').and_then(|(_, word)| EventKind::parse(word));
        kind.is_some_and(EventKind::is_for_webhooks)
    };
    let wrong = index.history.posted.iter().filter(|name| !is_sendable(name));
    wrong.map(|name| format!("a webhook was sent {name}")).collect()
}

/// The first index at which two lists differ.
fn difference(one: &[&str], other: &[&str]) -> Option<usize> {
    (one != other).then(|| one.iter().zip(other).position(|(a, b)| a != b).unwrap_or(one.len().min(other.len())))
}
