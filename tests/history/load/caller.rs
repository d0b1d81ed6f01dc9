//! A caller: makes calls and records every answer.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{Chance, Shared};
use crate::record::{Answer, Ask, Call, Entry, Refusal, ReportedItem, Request};

/// Added to the wait time of a call.
const PATIENCE: Duration = Duration::from_secs(8);
/// The percentage of calls that are abandoned before their answer.
const LEAVERS: u32 = 2;

pub struct Caller {
    pub shared: Arc<Shared>,
    pub chance: Chance,
    http: reqwest::Client,
    is_steady: bool,
}

impl Caller {
    pub fn new(shared: &Arc<Shared>, chance: Chance) -> Self {
        let http = shared.services.http.clone();
        Self { shared: shared.clone(), chance, http, is_steady: false }
    }

    pub async fn call(&mut self, ask: Ask) -> Answer {
        let waits = if let Ask::Reserve { wait_ms, .. } = ask { wait_ms } else { 0 };
        let leaves = !self.is_steady && self.chance.percent(LEAVERS);
        let patience = match leaves {
            true => Duration::from_micros(self.chance.up_to(20_000)),
            false => PATIENCE + Duration::from_millis(waits),
        };
        let begin = self.shared.record.now();
        let sent = tokio::time::timeout(patience, self.send(ask.request())).await;
        let answer = sent.map_or(Answer::Unknown, |heard| heard.map_or_else(of_error, |it| read(it.0, &it.1)));
        let end = self.shared.record.now();
        self.shared.record.add(Entry::Call(Call { begin, end, ask, answer: answer.clone() }));
        answer
    }

    /// Repeats a call until it is done; for callers before and after the load.
    pub async fn insist(&mut self, ask: Ask) -> Vec<ReportedItem> {
        self.is_steady = true;
        for _ in 0..200 {
            if let Answer::Done(item) = self.call(ask.clone()).await {
                self.is_steady = false;
                return item;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{ask:?} does not come to an end")
    }

    /// Reads once, without recording; `None` if it fails.
    pub async fn look(&mut self, path: &str) -> Option<Value> {
        let request = Request { method: "GET", path: path.to_owned(), key: None, body: None };
        let sent = tokio::time::timeout(PATIENCE * 5, self.send(request)).await;
        sent.ok()?.ok().filter(|(status, _)| *status == 200)?.1
    }

    /// Repeats a read until it succeeds.
    pub async fn see(&mut self, path: &str) -> Value {
        for _ in 0..200 {
            if let Some(seen) = self.look(path).await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{path} cannot be had")
    }

    /// Sends the failed deliveries of a queue again, and makes an instance look for those that are due.
    pub async fn redeliver(&mut self, webhook: &str, queue: &str) {
        let body = Some(serde_json::json!({ "queue": queue }));
        let path = format!("/webhooks/{webhook}/redeliver");
        // The next round does it once more.
        let _ = self.send(Request { method: "POST", path, key: None, body }).await;
    }

    async fn send(&mut self, request: Request) -> reqwest::Result<(u16, Option<Value>)> {
        let base = self.shared.services.url(&mut self.chance);
        let method = request.method.parse().expect("a method");
        let mut builder = self.http.request(method, format!("{base}{}", request.path));
        if let Some(key) = request.key {
            builder = builder.header("idempotency-key", key);
        }
        if let Some(body) = request.body {
            builder = builder.header("content-type", "application/json").body(body.to_string());
        }
        let answer = builder.send().await?;
        let status = answer.status().as_u16();
        Ok((status, serde_json::from_slice(&answer.bytes().await?).ok()))
    }
}

fn of_error(error: reqwest::Error) -> Answer {
    match error.is_connect() {
        true => Answer::Refused(Refusal { status: 0, slug: "no-connection".to_owned(), unsure: false }),
        false => Answer::Unknown,
    }
}

fn read(status: u16, body: &Option<Value>) -> Answer {
    let Some(body) = body else {
        return Answer::Refused(Refusal { status, slug: "not JSON".to_owned(), unsure: true });
    };
    if !(200..300).contains(&status) {
        return Answer::Refused(Refusal::read(body));
    }
    let list = ["jobs", "results", "batches"].iter().find_map(|key| body[key].as_array());
    Answer::Done(match list {
        Some(list) => list.iter().map(ReportedItem::read).collect(),
        None if body["id"].is_string() => vec![ReportedItem::read(body)],
        None => Vec::new(),
    })
}
