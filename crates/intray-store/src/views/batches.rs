//! Reads of batches.

use intray_redis::{Args, Fault};
use serde::Serialize;

use crate::{
    handle::Queues,
    job::{BatchId, JobId, QueueName, State},
    layout::{
        batch::Batch,
        cursor::Cursor,
        ended::{Completed, completed},
        record::{LiveRecord, json_if_any},
    },
    payload::Json,
    redis::read::{Fields, broken},
};

#[derive(Debug)]
pub struct BatchPage {
    pub batches: Vec<Batch>,
    pub next: Option<Cursor>,
}

#[derive(Debug)]
pub struct ResultPage {
    pub results: Vec<MemberResult>,
    /// The index of the next page.
    pub next: Option<u32>,
    /// Each of its jobs is for another worker, because the batch has an overlap.
    pub is_shared: bool,
}

/// The outcome of one job of a batch.
#[derive(Debug, Serialize)]
pub struct MemberResult {
    pub id: JobId,
    pub index: u32,
    pub state: State,
    pub result: Option<Json>,
    pub completed: Option<Completed>,
}

impl ResultPage {
    /// Takes away who completed the jobs.
    pub fn hide_workers(&mut self) {
        self.results.iter_mut().flat_map(|result| &mut result.completed).for_each(|completed| completed.worker = None);
    }
}

impl Queues {
    /// `None`: there is no such batch.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn batch(&self, id: &BatchId) -> Result<Option<Batch>, Fault> {
        let answered = self.run_view("batch", &id.queue, &handle(id)).await?;
        let mut answer = Fields::of(&answered)?;
        match answer.text()?.as_str() {
            "batch" => Batch::parse(id.clone(), &answer.bytes()?).map(Some),
            "unknown" => Ok(None),
            _ => Err(broken("batch or unknown")),
        }
    }

    /// A page of the batches of a queue, by their next deadline.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn batches(&self, queue: &QueueName, after: Option<Cursor>, limit: u32) -> Result<BatchPage, Fault> {
        let (score, code) = after.as_ref().and_then(Cursor::place).unwrap_or_default();
        let mut args = Args::default();
        args.number(limit.into()).push(score).push(code);
        let answered = self.run_view("batches", queue, &args).await?;
        let mut answer = Fields::of(&answered)?;
        let next = Cursor::after(&answer.text()?, &answer.bytes()?);
        let batch = |mut fields: Fields| {
            let id = BatchId { queue: queue.clone(), code: fields.code()? };
            Batch::parse(id, &fields.bytes()?)
        };
        Ok(BatchPage { batches: answer.lists().map(|fields| batch(fields?)).collect::<Result<_, _>>()?, next })
    }

    /// A page of the outcomes of its jobs, in order. `None`: there is no such batch.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn results(&self, id: &BatchId, from: u32, limit: u32) -> Result<Option<ResultPage>, Fault> {
        let (mut page, mut from, mut bytes) =
            (ResultPage { results: Vec::new(), next: None, is_shared: false }, from, 0);
        // One script reads at most a hundred results, so a large page takes several.
        loop {
            let mut args = handle(id);
            args.number(from.into()).number(u64::from(limit) - page.results.len() as u64).number(bytes);
            let answered = self.run_view("results", &id.queue, &args).await?;
            let mut answer = Fields::of(&answered)?;
            if answer.text()? == "unknown" {
                return Ok(None);
            }
            page.next = answer.maybe()?.map(|index| index as u32);
            bytes = answer.count()?;
            let is_full = answer.flag()?;
            page.is_shared = answer.flag()?;
            for (index, fields) in (from..).zip(answer.lists()) {
                page.results.push(read_result(id, index, fields?)?);
            }
            match page.next {
                Some(next) if !is_full && page.results.len() < limit as usize && next > from => from = next,
                _ => return Ok(Some(page)),
            }
        }
    }
}

fn read_result(id: &BatchId, index: u32, mut fields: Fields<'_>) -> Result<MemberResult, Fault> {
    let (state, result, live) = (fields.state()?, fields.bytes()?, fields.bytes()?);
    let result = json_if_any(result)?;
    let completed = if live.is_empty() { None } else { completed(&LiveRecord::parse(&live)?) };
    Ok(MemberResult { id: id.member(index), index, state, result, completed })
}

fn handle(id: &BatchId) -> Args {
    let mut args = Args::default();
    args.push(id.code.as_str());
    args
}
