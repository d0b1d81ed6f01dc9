//! A queue's jobs go into a file. What breaks off goes on behind the last line that is there, where a list can.

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Write, stdout},
};

use anyhow::{Context, anyhow};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;

use super::{
    bar::Bar,
    calls::{Refusal, call, refusal},
    patience::Patience,
};
use crate::{client::Service, config::Export};

/// The end of a list that is not all of it.
#[derive(Deserialize)]
struct Cut {
    error: Refusal,
}

#[derive(Deserialize)]
struct Place {
    next: Option<String>,
}

/// What is there so far.
struct Written {
    into: Box<dyn Write + Send>,
    /// The last whole line.
    last: Vec<u8>,
    jobs: u64,
    bytes: u64,
    bar: Bar,
}

/// # Errors
/// One line: why it is not all.
pub async fn export(options: &Export) -> anyhow::Result<()> {
    let service = Service::new(&options.remote).map_err(anyhow::Error::msg)?;
    let into: Box<dyn Write + Send> = match &options.output {
        Some(file) => Box::new(BufWriter::new(File::create(file).with_context(|| file.display().to_string())?)),
        None => Box::new(BufWriter::new(stdout())),
    };
    let mut written = Written { into, last: Vec::new(), jobs: 0, bytes: 0, bar: Bar::new(None) };
    let mut patience = Patience::new();
    let (mut after, mut jobs) = (options.after.clone(), 0);
    loop {
        let kind = if options.csv { "text/csv" } else { "application/x-ndjson" };
        let answer = call(&service, "GET", &path(options, after.as_deref()), &[("accept", kind)], Bytes::new()).await;
        let ended = match answer {
            Ok(answer) if answer.status().as_u16() != 200 => Err(End::Refused(refusal(answer).await)),
            Ok(answer) if options.csv => written.copy(answer.into_body()).await,
            Ok(answer) => written.lines(answer.into_body()).await,
            Err(error) => Err(End::Broke(error)),
        };
        let error = match ended {
            Ok(()) => return Ok(written.into.flush()?),
            // Whoever has read enough may close the pipe.
            Err(End::Closed) => return Ok(()),
            Err(End::Refused(refusal)) if !refusal.passes() => return Err(anyhow!(refusal.detail)),
            Err(End::Refused(refusal)) => anyhow!(refusal.detail),
            Err(End::Broke(error)) => error,
        };
        let place = serde_json::from_slice(&written.last).ok().and_then(|place: Place| place.next);
        if written.jobs > 0 && place.is_none() || options.csv && written.bytes > 0 {
            return Err(error.context("it is not all there, and such a list cannot be gone on with"));
        }
        if written.jobs > jobs {
            (jobs, patience) = (written.jobs, Patience::new());
        }
        after = place.or(after);
        patience.after(error).await?;
    }
}

/// Why an answer ended before its end.
enum End {
    Refused(Refusal),
    Broke(anyhow::Error),
    /// Nobody reads what is written.
    Closed,
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe { Self::Closed } else { Self::Refused(Refusal::of_a_file(&error)) }
    }
}

impl From<hyper::Error> for End {
    fn from(error: hyper::Error) -> Self {
        Self::Broke(error.into())
    }
}

impl Written {
    async fn copy(&mut self, mut body: Incoming) -> Result<(), End> {
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame?.into_data() else { continue };
            self.into.write_all(&piece)?;
            self.bytes += piece.len() as u64;
            self.bar.is_at(self.bytes, self.jobs);
        }
        Ok(())
    }

    /// Only whole lines are written.
    async fn lines(&mut self, mut body: Incoming) -> Result<(), End> {
        let mut rest = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame?.into_data() else { continue };
            rest.extend_from_slice(&piece);
            let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { continue };
            let behind = rest.split_off(end + 1);
            let whole = std::mem::replace(&mut rest, behind);
            for line in whole.split_inclusive(|byte| *byte == b'\n').filter(|line| line.len() > 1) {
                if line.starts_with(b"{\"error\":") {
                    let broken = |_| Refusal { status: 502, detail: "the answer cannot be read".to_owned() };
                    let Cut { error } = serde_json::from_slice(line).map_err(|e| End::Refused(broken(e)))?;
                    return Err(End::Refused(error));
                }
                self.into.write_all(line)?;
                self.last = line.to_vec();
                self.jobs += 1;
            }
            // Who follows reads it now.
            self.into.flush()?;
            self.bytes += whole.len() as u64;
            self.bar.is_at(self.bytes, self.jobs);
        }
        Ok(())
    }
}

fn path(options: &Export, after: Option<&str>) -> String {
    let mut path = format!("/queues/{}/jobs?state={}", options.queue, options.state.word());
    let columns = options.columns.as_deref();
    for (name, value) in [("client", options.client.as_deref()), ("after", after), ("columns", columns)] {
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
