//! What is done with the answers of a group: each caller has its own, or its item goes again.

use std::sync::Arc;

use redis::Value;

use super::{Answer, Lane, Op, Waiting};
use crate::queue::{
    Fault, Inner, meter,
    redis::read,
    transitions::{reserve, undo::Undo},
};

/// How often a call that came to too much overdue work, or to too many blocked jobs, goes to the front again. A script does
/// little: these are about 2,000 jobs without locks, or 200 that wait for others of many.
const MOST_TRIES: u8 = 40;

/// A reserve answers {…shared, items}, all others their items alone.
pub(crate) fn split(op: Op, value: Value, expected: usize) -> Result<(Vec<Value>, Arc<[Value]>), Fault> {
    let broken = || Fault::Broken(format!("{op:?}: an answer for each item was expected"));
    let Value::Array(mut items) = value else { return Err(broken()) };
    let mut shared = Vec::new();
    if op == Op::Reserve {
        let Some(Value::Array(calls)) = items.pop() else { return Err(broken()) };
        shared = std::mem::replace(&mut items, calls);
    }
    if items.len() == expected { Ok((items, shared.into())) } else { Err(broken()) }
}

pub(crate) fn deliver(inner: &Arc<Inner>, lane: &Lane, group: Vec<Waiting>, items: Vec<Value>, shared: &Arc<[Value]>) {
    let mut again = Vec::new();
    for (mut waiting, item) in group.into_iter().zip(items) {
        // "later" is bounded by the caller's patience: each script serves somebody, and those behind it come in their order.
        let word = read::word(&item);
        let unlucky = matches!(word, Some("overdue" | "more"));
        if word == Some("later") || unlucky && waiting.tries < MOST_TRIES {
            waiting.tries += u8::from(unlucky);
            waiting.claim.take_back();
            if let Some(behind) = go_on_behind(&item) {
                reserve::go_on_behind(&mut waiting.item.args, behind);
            }
            again.push(waiting);
            continue;
        }
        if let Some(word) = word {
            meter::unchanged(&lane.0, lane.1, word);
        }
        let undo = (lane.1 == Op::Reserve).then(|| Undo::of(inner, &lane.0, &item)).flatten();
        // A caller that is gone drops the answer, and with it the guard.
        let _ = waiting.reply.send(Ok(Answer { item, shared: shared.clone(), undo }));
    }
    if !again.is_empty() {
        inner.lanes.first_again(lane, again);
    }
}

/// Whether a script may have moved a job. Whoever asks for nothing in a queue that is none makes no work for anybody.
pub(crate) fn moved(op: Op, item: &Value) -> bool {
    match read::word(item) {
        Some("lost" | "unknown") => false,
        Some("new") if op == Op::Reserve => !matches!(item, Value::Array(parts) if parts.len() == 1),
        _ => true,
    }
}

/// Where a reserve that looked at as many as it may goes on: place and id.
fn go_on_behind(item: &Value) -> Option<(&[u8], &[u8])> {
    match item {
        Value::Array(parts) => match parts.as_slice() {
            [Value::BulkString(word), Value::BulkString(place), Value::BulkString(id)] if word == b"more" => {
                Some((place, id))
            }
            _ => None,
        },
        _ => None,
    }
}
