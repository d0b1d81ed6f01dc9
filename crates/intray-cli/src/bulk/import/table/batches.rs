//! Sends each row as a batch of opinions, under a key of its own.

use anyhow::{Context, anyhow};
use bytes::Bytes;
use serde::Deserialize;

use intray_base::sha256::{Sha256, hex};

use super::{ImportSummary, TableImport, stopped_before};
use crate::{
    bulk::{
        calls::{Failure, ServiceRefusal, post_json},
        retry_budget::RetryBudget,
    },
    client::Service,
};

#[derive(Deserialize)]
struct CreatedBatches {
    batches: Vec<CreatedBatch>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum CreatedBatch {
    Refused {
        error: ServiceRefusal,
    },
    Created {
        /// An earlier import has created it.
        known: bool,
    },
}

/// The outcome of a row.
enum Created {
    New,
    Known,
    Refused(ServiceRefusal),
}

/// # Errors
/// The import stopped before the end.
pub(super) async fn send(
    service: &Service,
    table: &mut TableImport<'_>,
    overlap: u32,
) -> anyhow::Result<ImportSummary> {
    let mut sum = ImportSummary::default();
    let mut sender = BatchSender { service, key: table.key.clone(), retries: RetryBudget::new() };
    let queue = table.options.queue.clone();
    while let Some((row, job)) = table.job()? {
        let created = sender.create(row, &job.batch(queue.as_ref(), overlap)).await;
        match created.with_context(|| stopped_before(row))? {
            Created::New => sum.add(1, &ImportSummary { created: 1, ..ImportSummary::default() }),
            Created::Known => sum.add(1, &ImportSummary { known: 1, ..ImportSummary::default() }),
            Created::Refused(refusal) => {
                if table.counts_refused() {
                    table.bar.refuses(row, None, &refusal.detail);
                }
            }
        }
        table.show(&sum);
    }
    Ok(sum)
}

struct BatchSender<'s> {
    service: &'s Service,
    key: String,
    retries: RetryBudget,
}

impl BatchSender<'_> {
    async fn create(&mut self, row: u64, batch: &str) -> anyhow::Result<Created> {
        Ok(match self.post(&row_key(&self.key, row), batch).await? {
            Err(error) | Ok(CreatedBatch::Refused { error }) => Created::Refused(error),
            Ok(CreatedBatch::Created { known: true }) => Created::Known,
            Ok(CreatedBatch::Created { known: false }) => Created::New,
        })
    }

    /// Posts an array of one item until the service answers.
    async fn post(&mut self, key: &str, item: &str) -> anyhow::Result<Result<CreatedBatch, ServiceRefusal>> {
        let body = Bytes::from(format!("[{item}]"));
        loop {
            match post_once(self.service, key, body.clone()).await {
                Ok(outcome) => {
                    self.retries.reset();
                    return Ok(outcome);
                }
                Err(Failure::Passing(error, asked)) => self.retries.after(error, asked).await?,
                Err(Failure::Final(error)) => return Err(error),
            }
        }
    }
}

/// Posts one batch, in an array. A refusal that no retry brings is an outcome.
///
/// # Errors
/// There is no answer, or a refusal that may pass.
pub async fn post_once(
    service: &Service,
    key: &str,
    body: Bytes,
) -> Result<Result<CreatedBatch, ServiceRefusal>, Failure> {
    match post_json(service, "/batches", key, body).await? {
        Err(refusal) => Ok(Err(refusal)),
        Ok(answer) => match read(&answer).map_err(Failure::Final)? {
            // The queue or its server is the reason, not the item.
            CreatedBatch::Refused { error } if error.is_passing() => Err(error.into()),
            batch => Ok(Ok(batch)),
        },
    }
}

fn read(answer: &[u8]) -> anyhow::Result<CreatedBatch> {
    let batches = serde_json::from_slice::<CreatedBatches>(answer).ok().map(|answer| answer.batches);
    let one = batches.and_then(|batches| <[CreatedBatch; 1]>::try_from(batches).ok());
    one.map(|[batch]| batch).ok_or_else(|| anyhow!("the answer is not one batch, so it is not from intray"))
}

/// A key for a row, however long the import's key is.
fn row_key(key: &str, row: u64) -> String {
    let digest = Sha256::digest(format!("{key}\0{row}"));
    format!("row-{row}-{}", hex(&digest[..16]))
}
