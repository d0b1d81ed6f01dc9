//! What a desk gives a person: what they typed, and the right to skip a job.

use intray::{job::Code, payload::Json};

use super::{Draft, Hold, Job, Queue};
use crate::fixtures::{DRAFTS, known};

const SKIPPED: usize = 16;

impl Queue {
    /// JSON's null removes it; no draft leaves it.
    pub fn keep_draft(&mut self, id: Code, draft: Option<&Json>) {
        match draft.map(|draft| known(&DRAFTS, draft.as_str())) {
            None => {}
            Some("null") => self.job(id).draft = None,
            Some(text) => self.type_draft(id, text),
        }
    }

    /// It is the holder's.
    pub fn type_draft(&mut self, id: Code, text: &'static str) {
        let job = self.job(id);
        let owner = job.hold.as_ref().expect("a reserved job has a lease").owner();
        job.draft = Some(Draft { owner, text });
    }

    /// What was typed is for who typed it, unless the queue shares it; that of the worker who handed the job over is for the holder too.
    /// Two callers without a name are not the same person.
    pub fn draft_of_holder(&self, job: &Job) -> Option<&'static str> {
        let owner = job.hold.as_ref()?.owner();
        let giver = job.routing.handed.as_ref().map(|handed| handed.from);
        let draft = job.draft.as_ref()?;
        let is_for = self.settings.share_drafts || draft.owner == owner || Some(&*draft.owner) == giver;
        is_for.then_some(draft.text)
    }

    /// A caller without a name hands the job over: their draft goes along, and no other's.
    pub fn give_draft(&mut self, id: Code, owner: &str) {
        if let Some(draft) = &mut self.job(id).draft {
            if draft.owner.is_empty() {
                draft.owner = "\0".to_owned();
            } else if draft.owner == owner {
                draft.owner.clear();
            }
        }
    }
}

impl Hold {
    /// Who owns what its holder types: the worker, or the call that took the job.
    pub fn owner(&self) -> String {
        if self.worker.is_empty() { format!("\0{}", self.nonce) } else { self.worker.to_owned() }
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
