//! What a desk gives a person: what they typed, the right to skip a job, time to come back.

use intray::{job::Code, queue::Return};

use super::{Draft, How, Job, Queue, job::Grace};

const SKIPPED: usize = 16;

/// How somebody gives a job back.
pub struct Leave {
    pub reason: &'static str,
    pub delay_ms: u32,
    pub skip: bool,
    /// 0: at once.
    pub grace_ms: u32,
    pub resumes: Option<u32>,
    pub draft: Option<&'static str>,
}

impl Queue {
    pub fn abandon(&mut self, id: Code, secret: &Code, leave: &Leave) -> Return {
        let worker = match self.live_holder(id, secret) {
            Ok(worker) => worker,
            Err(lost) => return self.again_or_lost(id, secret, How::Abandoned, lost),
        };
        let (resumes, said_before) = self.jobs[&id].hold.as_ref().map_or((0, None), |hold| (hold.resumes, hold.grace));
        if leave.resumes.is_some_and(|known| known < resumes) {
            return Return::Stays;
        }
        if leave.skip && worker.is_empty() {
            return Return::NobodySkips;
        }
        self.keep_draft(id, worker, leave.draft);
        // Who has not come back since has not changed their mind.
        let skips = leave.skip || said_before.is_some_and(|grace| grace.skips);
        if leave.grace_ms > 0 {
            let until = self.now + u64::from(leave.grace_ms);
            let hold = self.job(id).hold.as_mut().expect("it is live");
            hold.deadline = hold.deadline.min(until);
            hold.grace = Some(Grace { skips });
            return Return::Stays;
        }
        self.let_go(id, Some(How::Abandoned));
        self.job(id).ring[0].reason = leave.reason;
        self.job(id).counts.abandoned += 1;
        if skips {
            self.job(id).skip(worker);
        }
        self.tell("abandoned", id, worker, leave.reason);
        self.count("abandoned");
        self.come_back_after(id, leave.delay_ms.into(), 0)
    }

    /// JSON's null takes away what is there; nothing said leaves it.
    pub(super) fn keep_draft(&mut self, id: Code, worker: &'static str, draft: Option<&'static str>) {
        match draft {
            None => {}
            Some("null") => self.job(id).draft = None,
            Some(text) => self.job(id).draft = Some(Draft { worker, text }),
        }
    }

    /// What was typed is for who typed it, unless the queue shares it. Nobody in particular is not the same twice.
    pub(super) fn draft_for(&self, job: &Job, worker: &str) -> Option<&'static str> {
        let is_for = |draft: &Draft| self.settings.share_drafts || !worker.is_empty() && draft.worker == worker;
        job.draft.filter(is_for).map(|draft| draft.text)
    }
}

impl Job {
    /// Somebody is remembered once, as the newest.
    pub(super) fn skip(&mut self, worker: &'static str) {
        self.skips.retain(|other| *other != worker);
        self.skips.insert(0, worker);
        self.skips.truncate(SKIPPED);
    }

    pub(super) fn is_skipped_by(&self, worker: &str) -> bool {
        self.skips.contains(&worker)
    }
}
