//! Writes the jobs of a queue to a file. An interrupted list continues after the last complete line, if it has a cursor.

mod heading;
mod output;
mod written;

use bytes::Bytes;

use self::written::{End, Written};
use super::{
    calls::{Failure, NDJSON, call},
    options::ExportOptions,
    retry_budget::RetryBudget,
};
use crate::client::Service;

/// # Errors
/// One line that says why the export is incomplete.
pub async fn export(options: &ExportOptions) -> anyhow::Result<()> {
    let service = Service::new(&options.remote).map_err(anyhow::Error::msg)?;
    let mut written = Written::new(options);
    let (mut retries, mut after) = (RetryBudget::new(), options.after.clone());
    loop {
        let (error, asked) = match fetch(&service, options, after.as_deref(), &mut written, &mut retries).await {
            // A reader that closes the pipe early is no error.
            Ok(()) | Err(End::Closed) => return Ok(()),
            Err(End::Failed(Failure::Final(error))) => return Err(error),
            Err(End::Failed(Failure::Passing(error, asked))) => (error, asked),
        };
        match written.place() {
            Ok(place) => after = place.or(after),
            Err(written::NoPlace) => {
                return Err(error.context("it is incomplete, and such a list cannot be continued"));
            }
        }
        retries.after(error, asked).await?;
    }
}

async fn fetch(
    service: &Service,
    options: &ExportOptions,
    after: Option<&str>,
    written: &mut Written,
    retries: &mut RetryBudget,
) -> Result<(), End> {
    let kind = if options.csv { "text/csv" } else { NDJSON };
    let answer = call(service, ("GET", &path(options, after)), &[("accept", kind)], Bytes::new(), kind).await?;
    // The file is opened after the answer's status is known, so that a refused call leaves its old content.
    written.open()?;
    if options.csv { written.copy(answer.into_body()).await } else { written.lines(answer.into_body(), retries).await }
}

fn path(options: &ExportOptions, after: Option<&str>) -> String {
    let mut path = format!("/queues/{}/jobs?state={}", options.queue, options.state.word());
    let (client, worker, columns) = (options.client.as_deref(), options.worker.as_deref(), options.columns.as_deref());
    for (name, value) in [("client", client), ("worker", worker), ("after", after), ("columns", columns)] {
        if let Some(value) = value {
            let encoded: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
            path.push_str(&format!("&{name}={encoded}"));
        }
    }
    if options.follow {
        path.push_str("&follow=true");
    }
    path
}
