//! Reads the events of a queue after the cursor of its tally, and adds them to its sheets.

use std::collections::BTreeMap;

use super::{SheetBook, Sheets, count::counts_of};
use crate::{
    job::{Day, Millis, Name, QueueName},
    store::{
        Event, EventLimit, Fault, Position, Shard, ShardSet, SheetChange, SheetFields, SheetGap, SheetHead, SheetLines,
        SheetState, TallyCursor, pack_lines, read_lines,
    },
};

/// Whole entries of the stream, so that an entry is counted or not.
const PAGE: EventLimit = EventLimit { entries: 50, events: usize::MAX };
/// A step ends after the entry with which it changes this many fields.
const MAX_FIELDS: usize = 400;
/// More steps than the events that a queue keeps after the cursor need; steps that another instance has taken count too.
const MAX_STEPS: u32 = 5_000;

/// What events add to the fields of the sheets.
type Additions = BTreeMap<(Day, Shard), SheetLines>;

/// What became of a step.
enum Step {
    /// The queue keeps no sheets.
    Off,
    /// There may be more events, or another instance was faster.
    Again,
    /// All events are counted.
    Done(SheetState, SheetHead),
}

impl Sheets {
    /// Counts the events of a queue until now. `None`: it keeps no sheets. When Redis has no memory for more, the book is not current.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn open(&self, queue: &QueueName) -> Result<Option<SheetBook>, Fault> {
        let mut incomplete = Fault::unavailable(&"the day sheets are not counted to their end yet");
        for _ in 0..MAX_STEPS {
            match self.step(queue).await {
                Ok(Step::Again) => {}
                Ok(Step::Off) => {
                    self.queues.note_sheets(queue, false);
                    return Ok(None);
                }
                Ok(Step::Done(state, head)) => {
                    self.queues.note_sheets(queue, true);
                    return Ok(Some(SheetBook { state, head, incomplete: None }));
                }
                Err(fault @ Fault::Full(_)) => {
                    incomplete = fault;
                    break;
                }
                Err(fault) => return Err(fault),
            }
        }
        let state = self.state(queue).await?;
        Ok(state.map(|(state, head)| SheetBook { state, head, incomplete: Some(incomplete) }))
    }

    /// How the sheets of a queue are kept, and their head.
    pub(super) async fn state(&self, queue: &QueueName) -> Result<Option<(SheetState, SheetHead)>, Fault> {
        let Some((state, fields)) = self.queues.sheets(queue, &[SheetHead::FIELD.to_owned()]).await? else {
            return Ok(None);
        };
        let head = match fields.first().filter(|head| !head.is_empty()) {
            Some(head) => SheetHead::read(head)?,
            // Nothing was counted yet. The first cursor is just before the beginning.
            None => SheetHead { since: after(state.cursor.position), ..SheetHead::default() },
        };
        Ok(Some((state, head)))
    }

    async fn step(&self, queue: &QueueName) -> Result<Step, Fault> {
        let Some((state, mut head)) = self.state(queue).await? else { return Ok(Step::Off) };
        let (cursor, before) = (state.cursor, head.clone());
        let mut page = self.queues.events_after(queue, cursor.position, PAGE).await?;
        if page.reached == cursor.position && cursor.lost == 0 {
            return Ok(Step::Done(state, head));
        }
        if cursor.lost > 0 {
            let until = page.events.first().map_or(state.now, Event::time);
            let gap = SheetGap { from_ms: after(cursor.position).0, until_ms: until.0, events: cursor.lost };
            tracing::warn!(%queue, lost = gap.events, "events were deleted before the day sheets could count them");
            head.miss(gap);
        }
        let (additions, cut) = add_up(&page.events, &state);
        page.reached = cut.unwrap_or(page.reached);
        let Some(mut fields) = self.add(queue, &state, &mut head, additions).await? else { return Ok(Step::Again) };
        if head != before || before.days.is_empty() {
            fields.push((SheetHead::FIELD.to_owned(), head.bytes()));
        }
        let reached = TallyCursor { position: page.reached, version: cursor.version + 1, lost: 0 };
        let change = SheetChange { read: cursor.to_string(), reached: reached.to_string(), fields };
        self.queues.tally(queue, &change).await?;
        Ok(Step::Again)
    }

    /// The fields with the additions. `None`: another instance has changed them, or the queue no longer keeps sheets.
    async fn add(
        &self,
        queue: &QueueName,
        state: &SheetState,
        head: &mut SheetHead,
        additions: Additions,
    ) -> Result<Option<Vec<(String, Vec<u8>)>>, Fault> {
        let mut days: Vec<_> = additions.keys().map(|(day, _)| *day).collect();
        days.dedup();
        let sets = days.iter().map(|day| ShardSet::field(*day));
        let names: Vec<_> = sets.chain(additions.keys().map(|(day, shard)| shard.field(*day))).collect();
        let Some(stored) = self.fields_at(queue, state.cursor, &names).await? else { return Ok(None) };
        let (sets, lines) = stored.split_at(days.len());
        let mut sets: BTreeMap<_, _> =
            days.into_iter().zip(sets.iter().map(|set| (ShardSet::read(set), false))).collect();
        let mut fields = Vec::with_capacity(names.len());
        for (((day, shard), added), stored) in additions.into_iter().zip(lines) {
            head.insert(day);
            if let Some((set, is_changed)) = sets.get_mut(&day) {
                *is_changed |= set.insert(shard);
            }
            let mut sum = read_lines(stored)?;
            added.into_iter().for_each(|(worker, counts)| sum.entry(worker).or_default().merge(&counts));
            fields.push((shard.field(day), pack_lines(&sum)));
        }
        let changed = sets.into_iter().filter(|(_, (_, is_changed))| *is_changed);
        fields.extend(changed.map(|(day, (set, _))| (ShardSet::field(day), set.bytes().to_vec())));
        Ok(Some(fields))
    }

    /// The values of fields as they were when the cursor was read. `None`: another instance has changed something since.
    pub(super) async fn fields_at(
        &self,
        queue: &QueueName,
        cursor: TallyCursor,
        names: &[String],
    ) -> Result<Option<SheetFields>, Fault> {
        if names.is_empty() {
            return Ok(Some(SheetFields::new()));
        }
        let read = self.queues.sheets(queue, names).await?;
        Ok(read.filter(|(state, _)| state.cursor == cursor).map(|(_, fields)| fields))
    }
}

/// What the events add, and where they end if they change many fields.
fn add_up(events: &[Event], state: &SheetState) -> (Additions, Option<Position>) {
    let mut additions = Additions::new();
    for entry in events.chunk_by(|one, next| (one.at.ms, one.at.sequence) == (next.at.ms, next.at.sequence)) {
        for event in entry {
            let Some(counts) = counts_of(event) else { continue };
            let worker = event.worker.as_ref().map_or("", Name::as_str);
            let lines = additions.entry((state.zone.day_of(event.time()), Shard::of(worker))).or_default();
            lines.entry(worker.to_owned()).or_default().merge(&counts);
        }
        if additions.len() >= MAX_FIELDS {
            return (additions, entry.last().map(|last| Position { index: Position::WHOLE_ENTRY, ..last.at }));
        }
    }
    (additions, None)
}

/// The time of the first event that may be after a position.
fn after(position: Position) -> Millis {
    Millis(position.ms + 1)
}
