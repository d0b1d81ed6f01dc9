//! Batches: one request split into many jobs, with its own limit of concurrent reservations and one completion.

mod make;

pub use self::make::{Appended, BatchCreation, NewBatch, NewMember};
use crate::queue::{
    Fault, Queues,
    layout::batch::Batch,
    layout::record::{Live, json},
    redis::link::Args,
    redis::read::{self, Fields, broken},
    views::ended::{Completed, completed},
    views::inspect::Cursor,
};
use crate::{
    job::{BatchId, BatchState, Code, JobId, QueueName, State, limits},
    payload::Json,
};

#[derive(Debug)]
pub enum BatchCancellation {
    /// Those of its jobs that somebody holds may finish.
    Cancelled(Batch),
    UnknownBatch,
    /// Completed or failed before.
    Over(BatchState),
}

#[derive(Debug)]
pub struct BatchPage {
    pub batches: Vec<Batch>,
    pub next: Option<Cursor>,
}

#[derive(Debug)]
pub struct ResultPage {
    pub results: Vec<MemberResult>,
    /// The index to go on with.
    pub next: Option<u32>,
}

/// What one job of a batch came to.
#[derive(Debug)]
pub struct MemberResult {
    pub id: JobId,
    pub index: u32,
    pub state: State,
    pub result: Option<Json>,
    pub completed: Option<Completed>,
}

impl Queues {
    /// `None`: there is no such batch.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn batch(&self, id: &BatchId) -> Result<Option<Batch>, Fault> {
        let mut answer = Fields::of(self.run(&self.inner.scripts.batch, &id.queue, &handle(id)).await?)?;
        match answer.text()?.as_str() {
            "batch" => Batch::parse(id.clone(), &answer.bytes()?).map(Some),
            "unknown" => Ok(None),
            _ => Err(broken("batch or unknown")),
        }
    }

    /// The batches of a queue, a page at a time: those first that time will move first.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn batches(&self, queue: &QueueName, after: Option<Cursor>, limit: u32) -> Result<BatchPage, Fault> {
        let (score, code) = after.as_ref().and_then(Cursor::place).unwrap_or_default();
        let mut args = Args::default();
        args.number(limit.into()).push(score).push(code);
        let mut answer = Fields::of(self.run(&self.inner.scripts.batches, queue, &args).await?)?;
        let next = Cursor::after(&answer.text()?, &answer.bytes()?);
        let batch = |mut fields: Fields| {
            let id = BatchId { queue: queue.clone(), code: fields.code()? };
            Batch::parse(id, &fields.bytes()?)
        };
        Ok(BatchPage { batches: answer.lists().map(|fields| batch(fields?)).collect::<Result<_, _>>()?, next })
    }

    /// What its jobs came to, in their order. `None`: there is no such batch.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn results(&self, id: &BatchId, from: u32, limit: u32) -> Result<Option<ResultPage>, Fault> {
        let (mut page, mut from, mut bytes) = (ResultPage { results: Vec::new(), next: None }, from, 0);
        // Each script reads a hundred results at most: a large page is put together of several.
        loop {
            let mut args = handle(id);
            args.number(from.into()).number(u64::from(limit) - page.results.len() as u64).number(bytes);
            let mut answer = Fields::of(self.run(&self.inner.scripts.results, &id.queue, &args).await?)?;
            if answer.text()? == "unknown" {
                return Ok(None);
            }
            page.next = answer.maybe()?.map(|index| index as u32);
            bytes = answer.count()?;
            let is_full = answer.flag()?;
            for (index, fields) in (from..).zip(answer.lists()) {
                page.results.push(read_result(id, index, fields?)?);
            }
            match page.next {
                Some(next) if !is_full && page.results.len() < limit as usize && next > from => from = next,
                _ => return Ok(Some(page)),
            }
        }
    }

    /// Nothing more comes into it. `None`: there is no such batch.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn seal(&self, id: &BatchId) -> Result<Option<Batch>, Fault> {
        let mut answer = Fields::of(self.run(&self.inner.scripts.seal, &id.queue, &handle(id)).await?)?;
        self.inner.stir(&id.queue);
        match answer.text()?.as_str() {
            "sealed" => Batch::parse(id.clone(), &answer.bytes()?).map(Some),
            "unknown" => Ok(None),
            _ => Err(broken("sealed or unknown")),
        }
    }

    /// Nothing more of it is handed out.
    ///
    /// # Errors
    /// When Redis is not well. What was begun, the sweep goes on with.
    pub async fn cancel_batch(&self, id: &BatchId) -> Result<BatchCancellation, Fault> {
        let mut answer = Fields::of(self.run(&self.inner.scripts.withdraw, &id.queue, &handle(id)).await?)?;
        self.inner.stir(&id.queue);
        match answer.text()?.as_str() {
            "withdrawn" => {}
            "over" => return Ok(BatchCancellation::Over(Batch::parse(id.clone(), &answer.bytes()?)?.state)),
            "unknown" => return Ok(BatchCancellation::UnknownBatch),
            _ => return Err(broken("withdrawn, over or unknown")),
        }
        self.go_on(id, "on").await?;
        Ok(self.batch(id).await?.map_or(BatchCancellation::UnknownBatch, BatchCancellation::Cancelled))
    }

    /// Steps of a long work on a batch, until it is done; what a very long one leaves, the sweep goes on with.
    async fn go_on(&self, id: &BatchId, word: &str) -> Result<(), Fault> {
        let mut args = handle(id);
        args.push(word);
        for _ in 0..limits::BATCH_STEPS {
            if read::word(&self.run(&self.inner.scripts.stage, &id.queue, &args).await?) != Some("more") {
                break;
            }
        }
        self.inner.stir(&id.queue);
        Ok(())
    }
}

fn read_result(id: &BatchId, index: u32, mut fields: Fields) -> Result<MemberResult, Fault> {
    let (state, result, live) = (fields.state()?, fields.bytes()?, fields.bytes()?);
    let result = if result.is_empty() { None } else { Some(json(result)?) };
    let completed = if live.is_empty() { None } else { completed(&Live::parse(&live)?) };
    Ok(MemberResult { id: id.member(index), index, state, result, completed })
}

fn handle(id: &BatchId) -> Args {
    code(&id.code)
}

fn code(code: &Code) -> Args {
    let mut args = Args::default();
    args.push(code.as_str());
    args
}
