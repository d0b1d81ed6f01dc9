//! Reads the entries of the stream. Each holds the events of one script.

use intray_redis::Fault;

use super::{Event, GivenBack, Position, Subject};
use crate::{
    job::{Code, Concern, EventKind, JobId, Millis, Name, QueueName, WorkerAccess},
    layout::{ended::Completed, record::Bytes},
    record_fields::event_fields::{IN_BATCH, REASON_NOTE, SKIPPED_NOTE},
    redis::read::{Fields, broken},
};

/// An entry is `[id, [count, packed events]]`, followed by optional fields with names, such as `by`, the owner of the key.
pub(in crate::views) fn read_entry(
    queue: &QueueName,
    mut entry: Fields<'_>,
    into: &mut Vec<Event>,
) -> Result<Position, Fault> {
    let position = Position::of_entry(&entry.text()?)?;
    let mut fields = entry.list()?;
    let _count = fields.bytes()?;
    let packed = fields.bytes()?;
    let by = key_of(&mut fields)?;
    let mut bytes = Bytes(&packed);
    let mut index = 0;
    while !bytes.0.is_empty() {
        let length = bytes.uint(1)?;
        let (kind, of_batch) = (bytes.text((length % IN_BATCH) as usize)?, length >= IN_BATCH);
        let code = Code::parse(&bytes.text(Code::LEN)?).ok_or_else(|| broken("a code"))?;
        let id = JobId { queue: queue.clone(), code };
        let (worker, client) = (bytes.name()?, bytes.name()?);
        let mut note = bytes.long_text()?;
        let at = Position { index, ..position };
        index += 1;
        // A newer instance may write kinds that this one does not know: they are skipped.
        let Some(kind) = EventKind::parse(&kind) else { continue };
        let subject = match kind.concerns() {
            Concern::Queue => Subject::Queue,
            Concern::Batch => Subject::Batch(id.batch()),
            Concern::Job(_) if of_batch => Subject::Member(id),
            Concern::Job(_) => Subject::Job(id),
        };
        let by = by.clone().filter(|_| kind.is_act());
        let is_completion = kind == EventKind::Completed;
        let (completed, ended_as) = if is_completion { completion(worker.as_ref(), &mut note) } else { (None, None) };
        let given_back = if kind == EventKind::Abandoned { Some(given_back(&mut note)) } else { None };
        let is_reservation = matches!(kind, EventKind::Reserved | EventKind::Resumed);
        let access = if is_reservation { WorkerAccess::parse(&std::mem::take(&mut note)) } else { None };
        into.push(Event {
            queue: queue.clone(),
            at,
            kind,
            subject,
            worker,
            client,
            note,
            completed,
            ended_as,
            given_back,
            access,
            by,
        });
    }
    Ok(position)
}

/// Fields that this version does not know are skipped.
fn key_of(fields: &mut Fields<'_>) -> Result<Option<Name>, Fault> {
    let mut by = None;
    while !fields.is_done() {
        match fields.text()?.as_str() {
            "by" => by = Name::parse(&fields.text()?).ok(),
            _ => fields.skip(),
        }
    }
    Ok(by)
}

/// Reads the note of an abandon: a reason, which one byte may precede.
fn given_back(note: &mut String) -> GivenBack {
    match note.bytes().next() {
        Some(mark @ (SKIPPED_NOTE | REASON_NOTE)) => {
            note.remove(0);
            if mark == SKIPPED_NOTE { GivenBack::Skipped } else { GivenBack::Abandoned }
        }
        _ if note == "undelivered" => GivenBack::Undelivered,
        _ => GivenBack::Abandoned,
    }
}

/// Reads the note of a completion: when the job was reserved, for how many ms, `late` if it was, and how its overdue reservation is
/// counted. `late` is left.
fn completion(worker: Option<&Name>, note: &mut String) -> (Option<Completed>, Option<EventKind>) {
    let text = std::mem::take(note);
    let mut words = text.split(' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    let Some((reserved_at, held_ms)) = number().zip(number()) else { return (None, None) };
    let late = words.next() == Some("late");
    if late {
        "late".clone_into(note);
    }
    let (reserved_at, at) = (Millis(reserved_at), Millis(reserved_at + held_ms));
    (
        Some(Completed { worker: worker.cloned(), reserved_at, at, held_ms, late }),
        words.next().and_then(EventKind::parse),
    )
}
