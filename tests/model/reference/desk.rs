//! What a desk gives a person: what they typed, and the right to skip a job.

use intray::{job::Code, payload::Json};

use super::{Draft, Job, Queue};
use crate::fixtures::{DRAFTS, known};

const SKIPPED: usize = 16;

impl Queue {
    /// JSON's null removes it; no draft leaves it.
    pub fn keep_draft(&mut self, id: Code, worker: &'static str, draft: Option<&Json>) {
        match draft.map(|draft| known(&DRAFTS, draft.as_str())) {
            None => {}
            Some("null") => self.job(id).draft = None,
            Some(text) => self.job(id).draft = Some(Draft { worker, text }),
        }
    }

    /// What was typed is for who typed it, unless the queue shares it or the job was handed over. Two callers without a
    /// name are not the same person.
    pub fn draft_for(&self, job: &Job, worker: &str) -> Option<&'static str> {
        let is_for_all = self.settings.share_drafts || job.routing.handed.is_some();
        let is_for = |draft: &Draft| is_for_all || !worker.is_empty() && draft.worker == worker;
        job.draft.filter(is_for).map(|draft| draft.text)
    }
}

impl Job {
    /// Each worker is kept once, as the newest.
    pub fn skip(&mut self, worker: &'static str) {
        self.skips.retain(|other| *other != worker);
        self.skips.insert(0, worker);
        self.skips.truncate(SKIPPED);
    }

    pub fn is_skipped_by(&self, worker: &str) -> bool {
        self.skips.contains(&worker)
    }
}
