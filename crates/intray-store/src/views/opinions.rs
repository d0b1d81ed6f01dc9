//! Batches with an overlap: what was asked, who answered what, and how far the answers agree.

use intray_redis::{Args, Fault};
use serde::Serialize;

use crate::{
    handle::Queues,
    job::{Agreement, BatchId, JobId, Name, QueueName, State, limits},
    layout::{
        batch::Batch,
        cursor::Cursor,
        ended::completed,
        record::{Header, LiveRecord, json, json_if_any},
    },
    payload::{
        Json,
        votes::{VotedPart, VotedValue, Votes},
    },
    redis::read::{Fields, broken},
    views::inspect::HandoutCounts,
};

/// Which batches of a queue to list with their opinions.
#[derive(Debug)]
pub struct OpinionFilter {
    /// What of each result is compared.
    pub part: VotedPart,
    /// Only batches with an overlap whose answers agree so far.
    pub agreement: Option<Agreement>,
    pub after: Option<Cursor>,
    pub limit: u32,
}

/// A batch, with its opinions if it has an overlap.
#[derive(Debug)]
pub struct JudgedBatch {
    pub batch: Batch,
    pub opinions: Option<Opinions>,
}

#[derive(Debug)]
pub struct JudgedPage {
    pub batches: Vec<JudgedBatch>,
    pub next: Option<Cursor>,
}

/// What was asked and answered in a batch with an overlap.
#[derive(Debug, Serialize)]
pub struct Opinions {
    /// The same for all its jobs. `None`: an older version removed it.
    pub payload: Option<Json>,
    pub agreement: Agreement,
    /// The different answers, that with the most votes first.
    pub answers: Vec<VotedValue>,
    /// Pointers to members in which answers that are objects differ.
    pub differs: Vec<String>,
    /// In the order of the batch.
    pub jobs: Vec<Opinion>,
}

/// One job of a batch with an overlap.
#[derive(Debug, Serialize)]
pub struct Opinion {
    pub id: JobId,
    pub state: State,
    /// Who completed it or holds it.
    pub worker: Option<Name>,
    /// It was completed after its time.
    pub late: bool,
    /// It is reserved, and its worker has completed it and may take that back: the answer does not count yet.
    pub undoable: bool,
    pub skipped_by: Vec<Option<Name>>,
    pub counts: HandoutCounts,
    /// The place of its answer among the different ones.
    pub answer: Option<usize>,
}

impl Opinions {
    /// Takes away the names of the workers.
    pub fn hide_workers(&mut self) {
        for job in &mut self.jobs {
            job.worker = None;
            job.skipped_by.fill(None);
        }
    }
}

impl JudgedPage {
    fn args_after(&self, filter: &OpinionFilter, bytes: u64) -> Args {
        let (score, code) = self.next.as_ref().and_then(Cursor::place).unwrap_or_default();
        let completed = filter.agreement.map_or(0, Agreement::min_completed);
        let mut args = Args::default();
        args.number(u64::from(filter.limit).saturating_sub(self.batches.len() as u64));
        args.number(filter.agreement.is_some().into()).number(completed.into()).push(score).push(code).number(bytes);
        args
    }
}

impl Queues {
    /// A batch, with its opinions if it has an overlap. `None`: there is no such batch.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn judged_batch(&self, id: &BatchId, part: &VotedPart) -> Result<Option<JudgedBatch>, Fault> {
        let mut args = Args::default();
        args.push(id.code.as_str());
        let answered = self.run_view("answers", &id.queue, &args).await?;
        let mut answer = Fields::of(&answered)?;
        match answer.word()? {
            "batch" => read_judged(&id.queue, answer.list()?, part).map(Some),
            "unknown" => Ok(None),
            _ => Err(broken("batch or unknown")),
        }
    }

    /// A page of the batches of a queue with their opinions, by their next deadline. It reads at most [`limits::RESERVE_BYTES`] of payloads
    /// and results, and one batch more, whether they are on the page or not.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn judged_batches(&self, queue: &QueueName, filter: OpinionFilter) -> Result<JudgedPage, Fault> {
        let mut page = JudgedPage { batches: Vec::new(), next: filter.after.clone() };
        let mut bytes = 0;
        for _ in 0..limits::PAGE_SCRIPTS {
            let answered = self.run_view("opinions", queue, &page.args_after(&filter, bytes)).await?;
            let mut answer = Fields::of(&answered)?;
            page.next = Cursor::after(&answer.text()?, &answer.bytes()?);
            bytes = answer.count()?;
            let is_full = answer.flag()?;
            for fields in answer.lists() {
                let batch = read_judged(queue, fields?, &filter.part)?;
                let own = batch.opinions.as_ref().map(|opinions| opinions.agreement);
                if filter.agreement.is_none() || own == filter.agreement {
                    page.batches.push(batch);
                }
            }
            if is_full || page.next.is_none() || page.batches.len() >= filter.limit as usize {
                break;
            }
        }
        Ok(page)
    }
}

fn read_judged(queue: &QueueName, mut fields: Fields<'_>, part: &VotedPart) -> Result<JudgedBatch, Fault> {
    let id = BatchId { queue: queue.clone(), code: fields.code()? };
    let batch = Batch::parse(id, &fields.bytes()?)?;
    if fields.is_done() {
        return Ok(JudgedBatch { batch, opinions: None });
    }
    let (raw, apart) = (fields.bytes()?, fields.bytes()?);
    let inline = || if raw.is_empty() { Ok(None) } else { Header::parse(&raw).map(|header| header.payload) };
    let payload = if apart.is_empty() { inline()? } else { Some(json(apart)?) };
    let (mut jobs, mut results) = (Vec::new(), Vec::new());
    for (index, job) in (0..).zip(fields.lists()) {
        let mut job = job?;
        jobs.push(read_opinion(batch.id.member(index), &job.bytes()?)?);
        results.push(json_if_any(job.bytes()?)?);
    }
    let votes = Votes::count(&results, part);
    for (job, place) in jobs.iter_mut().zip(&votes.of) {
        job.answer = *place;
    }
    let agreement = match (votes.values.len(), votes.cast() == jobs.len()) {
        (0 | 1, false) | (0, true) => Agreement::Incomplete,
        (1, true) => Agreement::Unanimous,
        _ => Agreement::Divided,
    };
    let Votes { values: answers, differs, .. } = votes;
    Ok(JudgedBatch { batch, opinions: Some(Opinions { payload, agreement, answers, differs, jobs }) })
}

fn read_opinion(id: JobId, raw: &[u8]) -> Result<Opinion, Fault> {
    let known = if raw.is_empty() { None } else { Some(LiveRecord::parse_with_skips(raw)?) };
    let (live, skips) = known.map_or((None, Vec::new()), |(live, skips)| (Some(live), skips));
    let completed = live.as_ref().and_then(completed);
    let lease = live.as_ref().and_then(|live| live.lease.as_ref());
    let [handed_out, expired, failed, abandoned, released] = live.as_ref().map_or([0; 5], |live| live.counters);
    Ok(Opinion {
        id,
        state: live.as_ref().map_or(State::Waiting, |live| live.state),
        worker: completed.as_ref().map_or_else(|| lease?.worker.clone(), |completed| completed.worker.clone()),
        late: completed.is_some_and(|completed| completed.late),
        undoable: lease.is_some_and(|lease| lease.is_closing),
        skipped_by: skips.into_iter().map(Some).collect(),
        counts: HandoutCounts { handed_out, expired, failed, abandoned, released },
        answer: None,
    })
}
