//! The last reservations of a job: who completed it or had it last when it died, and why others gave it back.

use serde::Serialize;

use crate::job::{Millis, Name, State};
use crate::layout::record::{Ended, LiveRecord};

#[derive(Debug, Clone, Serialize)]
pub struct AbandonReason {
    pub at: Millis,
    pub worker: Option<Name>,
    pub reason: String,
}

/// Who completed a job, and when it was reserved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Completed {
    pub worker: Option<Name>,
    pub reserved_at: Millis,
    pub at: Millis,
    pub held_ms: u64,
    pub late: bool,
}

/// Who had a job last when it died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Death {
    pub worker: Option<Name>,
    pub reserved_at: Millis,
    pub at: Millis,
}

/// The last attempt of a dead job, which is its latest reservation.
pub(crate) fn death(live: &LiveRecord) -> Option<Death> {
    let Ended { worker, reserved_at, at, .. } = live.ended.first().filter(|_| live.state == State::Dead)?;
    Some(Death { worker: worker.clone(), reserved_at: *reserved_at, at: *at })
}

/// The completion of a completed job, which is its latest reservation.
pub(crate) fn completed(live: &LiveRecord) -> Option<Completed> {
    let ended = live.ended.first().filter(|ended| live.state == State::Completed && ended.is_completion())?;
    let (reserved_at, at) = (ended.reserved_at, ended.at);
    Some(Completed {
        worker: ended.worker.clone(),
        reserved_at,
        at,
        held_ms: at.since(reserved_at),
        late: ended.is_late(),
    })
}

pub(crate) fn reasons(live: &LiveRecord) -> Vec<AbandonReason> {
    let with_reason = live.ended.iter().filter(|ended| ended.is_abandon() && !ended.note.is_empty());
    with_reason
        .map(|Ended { at, worker, note, .. }| AbandonReason { at: *at, worker: worker.clone(), reason: note.clone() })
        .collect()
}
