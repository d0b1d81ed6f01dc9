//! The payloads and results of several jobs.

use intray_redis::{Args, Fault};

use crate::job::{JobId, QueueName};
use crate::{
    handle::Queues,
    layout::record::{self, Header},
    payload::Json,
    redis::read::Fields,
};

/// The payload and the result of a job.
#[derive(Debug)]
pub struct JobContent {
    pub payload: Option<Json>,
    pub result: Option<Json>,
}

impl JobContent {
    /// In bytes.
    pub fn size(&self) -> usize {
        self.payload.iter().chain(&self.result).map(Json::len).sum()
    }
}

impl Queues {
    /// The payloads and results of the first of these jobs of a queue, as many as have `room` bytes together, and at least one.
    /// `None`: there is no such job, or what it has is longer than `max` bytes and was not read.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn contents(
        &self,
        queue: &QueueName,
        ids: &[&JobId],
        max: usize,
        room: usize,
    ) -> Result<Vec<Option<JobContent>>, Fault> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut args = Args::default();
        args.number(max as u64).number(room as u64);
        for id in ids {
            args.push(id.code.as_str());
        }
        let answered = self.run_view("contents", queue, &args).await?;
        Fields::of(&answered)?.lists().map(|job| read_content(job?)).collect()
    }
}

fn read_content(mut fields: Fields<'_>) -> Result<Option<JobContent>, Fault> {
    if fields.is_done() {
        return Ok(None);
    }
    let header = Header::parse(&fields.bytes()?)?;
    let (apart, result) = (record::json_if_any(fields.bytes()?)?, record::json_if_any(fields.bytes()?)?);
    Ok(Some(JobContent { payload: apart.or(header.payload), result }))
}
