//! The list of operators' actions.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    job::{BatchId, Code, JobId, Millis, QueueName},
    store::{ActionEntry, ActionPage, SettingChange},
};

#[derive(Serialize)]
pub struct ActionPageBody<'a> {
    actions: Vec<ActionBody<'a>>,
    next: Option<String>,
}

#[derive(Serialize)]
struct ActionBody<'a> {
    action: &'a str,
    began_at: Millis,
    at: Millis,
    by: Option<&'a str>,
    job: Option<JobId>,
    batch: Option<BatchId>,
    count: u64,
    parameters: &'a Map<String, Value>,
    settings: &'a [SettingChange],
}

impl<'a> ActionPageBody<'a> {
    pub fn new(queue: &QueueName, page: &'a ActionPage) -> Self {
        let actions = page.actions.iter().map(|entry| ActionBody::new(queue, entry)).collect();
        Self { actions, next: page.next.map(|number| number.to_string()) }
    }
}

impl<'a> ActionBody<'a> {
    fn new(queue: &QueueName, entry: &'a ActionEntry) -> Self {
        let ActionEntry { began_at, at, count, note, changes, .. } = entry;
        let code = |text: &Option<String>| Code::parse(text.as_deref()?);
        Self {
            action: &note.action,
            began_at: *began_at,
            at: *at,
            by: note.by.as_deref(),
            job: code(&note.job).map(|code| JobId { queue: queue.clone(), code }),
            batch: code(&note.batch).map(|code| BatchId { queue: queue.clone(), code }),
            count: *count,
            parameters: &note.parameters,
            settings: changes,
        }
    }
}
