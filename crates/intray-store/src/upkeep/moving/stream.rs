//! Copies the event stream of a queue. Entries keep their ids and the last id is kept, so that readers can continue.

use intray_redis::Fault;

use super::{
    Moving,
    carry::Way,
    halt::Halt,
    page,
    tally::{Tally, digest},
};
use crate::{handle::Queues, redis::read::Fields};

/// Entries per page. The largest entries make a page of some dozens of KB.
const PAGE: usize = 50;

/// An entry: its id, then fields and values.
type MovedEvent = (Vec<u8>, Vec<Vec<u8>>);

/// The metadata of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stand {
    length: u64,
    last: String,
    dropped: String,
    added: String,
}

impl Moving<'_> {
    /// Copies the stream once, after the queue is closed: it is small and always growing.
    pub(super) async fn carry_stream(&self, way: &Way<'_>) -> Result<Tally, Halt> {
        self.lay_one(way, &["UNLINK"]).await?;
        if !page::is_there(self.source.queues, &way.from).await.map_err(Halt::Source)? {
            return Ok(Tally::default());
        }
        let stand = stand(self.source.queues, &way.from).await.map_err(Halt::Source)?;
        let (mut after, mut here) = (None, Tally::default());
        while let Some(page) = events(self.source.queues, &way.from, &mut after).await.map_err(Halt::Source)? {
            here.add(tally_of(way, &page));
            let adds = page.into_iter().map(|(id, fields)| [vec![b"XADD".to_vec(), id], fields].concat());
            self.target.lay(way.queue, &way.to, &adds.collect::<Vec<_>>(), true).await?;
        }
        if stand.length == 0 {
            // An empty stream exists only after an entry was added and removed.
            self.lay_one(way, &["XADD", &stand.last, "gone", ""]).await?;
            self.lay_one(way, &["XTRIM", "MAXLEN", "0"]).await?;
        }
        let count = ["ENTRIESADDED", &stand.added, "MAXDELETEDID", &stand.dropped];
        self.lay_one(way, &[&["XSETID", &stand.last][..], &count].concat()).await?;
        self.is_the_same(way, &stand, &here).await?;
        Ok(Tally { written: here.entries, ..here })
    }

    async fn is_the_same(&self, way: &Way<'_>, stand: &Stand, here: &Tally) -> Result<(), Halt> {
        let (mut after, mut there) = (None, Tally::default());
        while let Some(page) = events(self.target.queues, &way.to, &mut after).await.map_err(Halt::Target)? {
            there.add(tally_of(way, &page));
        }
        let stands = self::stand(self.target.queues, &way.to).await.map_err(Halt::Target)?;
        if there == *here && stands == *stand { Ok(()) } else { Err(way.differs()) }
    }

    async fn lay_one(&self, way: &Way<'_>, command: &[&str]) -> Result<(), Halt> {
        let words = command.iter().map(|word| word.as_bytes().to_vec()).collect();
        self.target.lay(way.queue, &way.to, &[words], true).await
    }
}

fn tally_of(way: &Way<'_>, events: &[MovedEvent]) -> Tally {
    let mut tally = Tally::default();
    for (id, fields) in events {
        let parts = std::iter::once(id.as_slice()).chain(fields.iter().map(Vec::as_slice));
        tally.add(Tally { entries: 1, written: 0, digest: digest(way.name, parts) });
    }
    tally
}

async fn stand(queues: &Queues, key: &str) -> Result<Stand, Fault> {
    let answered = queues.parts.runner.link.plain(redis::cmd("XINFO").arg("STREAM").arg(key)).await?;
    let (mut fields, mut stand) = (Fields::of(&answered)?, Stand::default());
    while !fields.is_done() {
        match fields.text()?.as_str() {
            "length" => stand.length = fields.count()?,
            "last-generated-id" => stand.last = fields.text()?,
            "max-deleted-entry-id" => stand.dropped = fields.text()?,
            "entries-added" => stand.added = fields.count()?.to_string(),
            _ => fields.skip(),
        }
    }
    Ok(stand)
}

/// The page of events after an id, which becomes the last id of the page; `None` after the last.
async fn events(queues: &Queues, key: &str, after: &mut Option<Vec<u8>>) -> Result<Option<Vec<MovedEvent>>, Fault> {
    let from = after.as_ref().map_or_else(|| b"-".to_vec(), |id| [b"(", id.as_slice()].concat());
    let mut command = redis::cmd("XRANGE");
    let page = queues.parts.runner.link.ask(command.arg(key).arg(from).arg("+").arg("COUNT").arg(PAGE));
    let page: Vec<MovedEvent> = page.await?;
    *after = page.last().map(|(id, _)| id.clone());
    Ok((!page.is_empty()).then_some(page))
}
