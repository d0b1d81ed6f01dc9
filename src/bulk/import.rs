//! Lines of a file become jobs. They are sent some at a time, each under the same key, so that whatever breaks, and however
//! often it is begun again, each is there once.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, Read, stdin},
    path::Path,
};

use anyhow::{Context, anyhow};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    bar::Bar,
    calls::{Refusal, call, refusal},
    patience::Patience,
};
use crate::{
    client::Service,
    config::Import,
    sha256::{Sha256, hex},
};

/// Lines, and bytes of them, of one call.
const MOST_LINES: u64 = 10_000;
const MOST_BYTES: usize = 4 << 20;

/// What is said at the end of an answer.
#[derive(Debug, Default, Deserialize)]
struct Told {
    lines: u64,
    created: u64,
    duplicates: u64,
    errors: u64,
    complete: bool,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refused {
    line: u64,
    error: Refusal,
}

/// Answers how many lines were refused.
///
/// # Errors
/// One line: why it was not finished.
pub async fn import(options: &Import) -> anyhow::Result<u64> {
    let service = Service::new(&options.remote).map_err(anyhow::Error::msg)?;
    let (mut lines, size) = open(&options.file)?;
    let key = match &options.idempotency_key {
        Some(key) => key.clone(),
        None => key_of(&options.file, lines.fill_buf()?)?,
    };
    let bar = Bar::new(size);
    let (mut sum, mut bytes) = (Told::default(), 0);
    loop {
        let (some, count, read) = next(&mut *lines, options)?;
        if count == 0 {
            break;
        }
        let told = deliver(&service, &key, sum.lines + 1, some, &bar).await;
        let told = told.with_context(|| format!("stopped behind line {}", sum.lines))?;
        bytes += read;
        sum.lines += count;
        sum.created += told.created;
        sum.duplicates += told.duplicates;
        sum.errors += told.errors;
        bar.is_at(bytes, sum.created + sum.duplicates);
    }
    drop(bar);
    let Told { lines, created, duplicates, errors, .. } = sum;
    println!("{lines} lines: {created} jobs, {duplicates} equal to one that is there, {errors} refused");
    Ok(errors)
}

fn open(file: &Path) -> anyhow::Result<(Box<dyn BufRead>, Option<u64>)> {
    if file.as_os_str() == "-" {
        return Ok((Box::new(BufReader::new(stdin())), None));
    }
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    let about = opened.metadata()?;
    Ok((Box::new(BufReader::new(opened)), about.is_file().then_some(about.len())))
}

/// The same for the same file, also when it has grown. Of what comes by a pipe nobody knows whether it is the same.
fn key_of(file: &Path, beginning: &[u8]) -> anyhow::Result<String> {
    if file.as_os_str() == "-" {
        return Ok(format!("import-{}", ulid::Ulid::new()));
    }
    let first = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let name = file.canonicalize()?;
    let digest = Sha256::digest([name.as_os_str().as_encoded_bytes(), b"\0", first].concat());
    Ok(format!("import-{}", hex(&digest[..16])))
}

/// The lines of the next call, how many, and bytes of the file that they were.
fn next(lines: &mut dyn BufRead, options: &Import) -> anyhow::Result<(Bytes, u64, u64)> {
    let (mut some, mut count, mut read) = (Vec::new(), 0, 0);
    while count < MOST_LINES && some.len() < MOST_BYTES {
        let mut line = Vec::new();
        read += lines.take(MOST_BYTES as u64).read_until(b'\n', &mut line)? as u64;
        if line.is_empty() {
            break;
        }
        if !line.ends_with(b"\n") && line.len() >= MOST_BYTES {
            return Err(anyhow!("a line is longer than {MOST_BYTES} bytes"));
        }
        some.extend(job(line.trim_ascii(), options));
        some.push(b'\n');
        count += 1;
    }
    Ok((some.into(), count, read))
}

/// A line as it is sent. What is no object is the service's to refuse.
fn job(line: &[u8], options: &Import) -> Vec<u8> {
    if line.is_empty() {
        return Vec::new();
    }
    let queue = options.queue.as_ref().map(|queue| format!("\"queue\":\"{queue}\","));
    if options.payloads {
        return [b"{", queue.unwrap_or_default().as_bytes(), b"\"payload\":", line, b"}"].concat();
    }
    let names_one = || {
        let members = serde_json::from_slice::<HashMap<String, &RawValue>>(line);
        members.map_or(true, |members| members.contains_key("queue") || members.is_empty())
    };
    match queue {
        Some(queue) if !names_one() => [b"{", queue.as_bytes(), &line[1..]].concat(),
        _ => line.to_vec(),
    }
}

/// Sends them until they are there.
async fn deliver(service: &Service, key: &str, first: u64, some: Bytes, bar: &Bar) -> anyhow::Result<Told> {
    let path = format!("/jobs?first_line={first}");
    let headers = [("content-type", "application/x-ndjson"), ("idempotency-key", key)];
    let mut patience = Patience::new();
    loop {
        let answer = match call(service, "POST", &path, &headers, some.clone()).await {
            Err(error) => {
                patience.after(error).await?;
                continue;
            }
            Ok(answer) if answer.status().as_u16() != 200 => Err(refusal(answer).await),
            Ok(answer) => match answer.into_body().collect().await {
                Ok(body) => read(&body.to_bytes()),
                Err(error) => {
                    patience.after(error.into()).await?;
                    continue;
                }
            },
        };
        match answer {
            Ok((refused, told)) => {
                let listed = refused.len() as u64;
                refused.iter().for_each(|one| bar.says(&format!("line {}: {}", one.line, one.error.detail)));
                if told.errors > listed {
                    bar.says(&format!("and {} more up to line {}", told.errors - listed, first + told.lines - 1));
                }
                return Ok(told);
            }
            Err(refusal) if refusal.passes() => patience.after(anyhow!(refusal.detail)).await?,
            Err(refusal) => return Err(anyhow!(refusal.detail)),
        }
    }
}

/// The lines that were refused, and what is said of all.
fn read(body: &[u8]) -> Result<(Vec<Refused>, Told), Refusal> {
    let broken = |_| Refusal { status: 502, detail: "the answer cannot be read".to_owned() };
    let text = std::str::from_utf8(body).map_err(|_| Refusal { status: 502, detail: "not UTF-8".to_owned() })?;
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text));
    let told: Told = serde_json::from_str(last).map_err(broken)?;
    match told.error {
        Some(error) if !told.complete => Err(error),
        _ => Ok((before.lines().map(serde_json::from_str).collect::<Result<_, _>>().map_err(broken)?, told)),
    }
}
