//! What lookers are shown. Nothing changes.

use intray::{
    job::{BatchId, Code, JobId, Millis, State},
    queue::{Completed, Cursor, Held, Job, JobFilter, QueueInfo},
};

use super::{Walk, broken};
use crate::{
    ops::{Look, Nth},
    reference::{self, Gate, How},
    words::{CLIENTS, LOCKS, STAMPS, Verdict, WORKERS, locks, name, same, text},
};

impl Walk<'_> {
    #[allow(clippy::too_many_lines, reason = "one arm a look")]
    pub(super) async fn look(&mut self, look: Look) -> Verdict {
        match look {
            Look::Queue => {
                let info = self.real.handle.queue(&self.real.queue).await.map_err(broken)?;
                same("there is such a queue", &info.is_some(), &self.model.registered.is_some())?;
                info.map_or(Ok(()), |info| self.compare_info(&info))
            }
            Look::Job(which) => {
                let id = self.which(which);
                let job = self.real.handle.job(id.clone()).await.map_err(broken)?;
                match (job, self.model.jobs.get(&id.code)) {
                    (Some(job), Some(expected)) => compare_job(&job, expected),
                    (job, expected) => same("there is such a job", &job.is_some(), &expected.is_some()),
                }
            }
            Look::List { state, client, worker, limit } => self.list(state, CLIENTS[client], worker, limit).await,
            Look::Holders { limit } => self.holders(limit).await,
            Look::Reservations(worker) => {
                let worker = name(WORKERS[worker]).ok_or("a worker")?;
                let queues = [self.real.queue.clone()];
                let (held, now) = self.real.handle.reservations(&queues, &worker).await.map_err(broken)?;
                same("they are listed at", &now, &Millis(self.model.now))?;
                let mut found: Vec<_> = held.iter().map(describe).collect();
                let mut expected = self.holds(&self.model.held_by(worker.as_str()));
                found.sort();
                expected.sort();
                same("a worker's reservations", &found, &expected)
            }
            Look::Locks { lock, limit } => self.list_locks(lock.map(|n| LOCKS[n]), limit).await,
            Look::Batch(nth) => {
                let id = self.nth_batch(nth);
                let batch = self.real.handle.batch(&id).await.map_err(broken)?;
                same("there is such a batch", &batch.is_some(), &self.model.batches.contains_key(&id.code))?;
                self.compare_batch(&id, batch)
            }
            Look::Batches { limit } => self.list_batches(limit).await,
            Look::Results { batch, limit } => self.list_results(batch, limit).await,
            Look::Members(batch, state) => {
                let id = self.nth_batch(batch);
                let filter =
                    JobFilter { state, client: None, worker: None, batch: Some(id.clone()), after: None, limit: 1_000 };
                let page = self.real.handle.jobs(&self.real.queue, filter).await.map_err(broken)?;
                let mut found: Vec<_> = page.jobs.iter().map(|job| job.id.code).collect();
                let mut expected = self.listed(state);
                expected.retain(|code| self.model.jobs[code].batch == Some(id.code));
                found.sort();
                expected.sort();
                same("the jobs of a batch", &found, &expected)
            }
        }
    }

    pub(super) fn compare_info(&self, info: &QueueInfo) -> Verdict {
        same("the queue's counts", &format!("{info:?}"), &format!("{:?}", self.model.info(info)))
    }

    /// Page by page.
    async fn list(&mut self, state: State, client: &str, worker: Option<usize>, limit: u32) -> Verdict {
        let worker = worker.map_or("", |n| WORKERS[n]);
        let (mut found, mut after) = (Vec::new(), None::<Cursor>);
        loop {
            let filter = JobFilter { state, client: name(client), worker: name(worker), batch: None, after, limit };
            let page = self.real.handle.jobs(&self.real.queue, filter).await.map_err(broken)?;
            found.extend(page.jobs.iter().map(|job| job.id.code));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut expected = self.listed(state);
        let jobs = &self.model.jobs;
        expected.retain(|id| client.is_empty() || jobs[id].client == client);
        expected.retain(|id| worker.is_empty() || jobs[id].hold.is_some() && jobs[id].worker() == worker);
        same(&format!("the list of the {}", state.word()), &found, &expected)
    }

    /// In the order of their list. Those of a batch that have ended are in its results instead.
    fn listed(&self, state: State) -> Vec<Code> {
        let jobs = &self.model.jobs;
        let mut listed = self.model.in_state(state);
        listed.retain(|id| !matches!(state, State::Completed | State::Cancelled) || jobs[id].batch.is_none());
        listed.sort_by_key(|id| jobs[id].parked_at.map(|gate| gate.key()));
        listed
    }

    async fn list_locks(&mut self, lock: Option<&str>, limit: u32) -> Verdict {
        let (mut found, mut after) = (Vec::new(), None::<Cursor>);
        loop {
            let name = lock.and_then(|lock| locks(&[lock]).pop());
            let page = self.real.handle.locks(&self.real.queue, name, after, limit).await.map_err(broken)?;
            found.extend(
                page.locks.iter().map(|held| (held.lock.as_str().to_owned(), describe(&held.held), held.blocked)),
            );
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let parked = |lock: &str| {
            let is_there = |job: &&reference::Job| matches!(job.parked_at, Some(Gate::Lock(name)) if name == lock);
            self.model.jobs.values().filter(is_there).count() as u64
        };
        let mut expected = Vec::new();
        for id in self.model.in_state(State::Reserved) {
            for own in self.model.jobs[&id].said.locks.iter().filter(|own| lock.is_none_or(|lock| lock == **own)) {
                let held = self.holds(&[id]).pop().ok_or("it is held")?;
                expected.push(((*own).to_owned(), held, parked(own)));
            }
        }
        same("who holds which lock", &found, &expected)
    }

    async fn list_batches(&mut self, limit: u32) -> Verdict {
        let (mut found, mut after) = (Vec::new(), None::<Cursor>);
        loop {
            let page = self.real.handle.batches(&self.real.queue, after, limit).await.map_err(broken)?;
            found.extend(page.batches.iter().map(|batch| format!("{batch:?}")));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut codes: Vec<_> = self.model.batches.keys().copied().collect();
        codes.sort_by_key(|code| self.model.batches[code].rank());
        let id = |code| BatchId { queue: self.real.queue.clone(), code };
        let expected = codes.into_iter().filter_map(|code| self.model.batch_shown(&id(code)));
        same("the batches of the queue", &found, &expected.map(|batch| format!("{batch:?}")).collect())
    }

    async fn list_results(&mut self, nth: Nth, limit: u32) -> Verdict {
        let id = self.nth_batch(nth);
        let (mut found, mut from) = (Vec::new(), Some(0));
        while let Some(index) = from {
            let page = self.real.handle.results(&id, index, limit).await.map_err(broken)?;
            let Some(page) = page else {
                return same("there are results", &false, &self.model.batches.contains_key(&id.code));
            };
            let results = page.results.iter();
            found.extend(results.map(|r| (r.id.code, r.state, r.result.as_ref().map(|json| json.as_str().to_owned()))));
            from = page.next;
        }
        let Some(batch) = self.model.batches.get(&id.code) else { return Err("there should be no results".to_owned()) };
        let result =
            |code: &Code| (*code, self.model.jobs[code].state, self.model.jobs[code].result.map(str::to_owned));
        same("the results of a batch", &found, &batch.members.iter().map(result).collect())
    }

    async fn holders(&mut self, limit: u32) -> Verdict {
        let (mut found, mut after) = (Vec::new(), None::<Cursor>);
        loop {
            let page = self.real.handle.workers(&self.real.queue, after, limit).await.map_err(broken)?;
            found.extend(page.held.iter().map(describe));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut expected = self.holds(&self.model.in_state(State::Reserved));
        found.sort();
        expected.sort();
        same("who holds what", &found, &expected)
    }

    fn holds(&self, ids: &[Code]) -> Vec<Description> {
        let describe = |id: &Code| {
            let hold = self.model.jobs[id].hold.as_ref().expect("it is held");
            let id = JobId { queue: self.real.queue.clone(), code: *id };
            (id, hold.worker.to_owned(), hold.reserved_at, hold.deadline, hold.resumes)
        };
        ids.iter().map(describe).collect()
    }
}

type Description = (JobId, String, u64, u64, u32);

fn describe(held: &Held) -> Description {
    let worker = text(held.worker.as_ref()).to_owned();
    (held.id.clone(), worker, held.reserved_at.0, held.deadline.0, held.resumes)
}

/// What the keyspace says otherwise is compared there.
fn compare_job(job: &Job, expected: &reference::Job) -> Verdict {
    same("a job's state", &job.state, &expected.state)?;
    same(
        "a job's payload",
        &job.payload.as_ref().map(|json| json.as_str()),
        &expected.has_payload.then_some(expected.said.payload),
    )?;
    same("a job's priority", &job.priority.get(), &expected.priority)?;
    same("a job's attempts", &job.attempts, &expected.attempts)?;
    same("a job's counts", &job.counts, &expected.counts)?;
    same(
        "a job's holder",
        &job.reserved.as_ref().map(|held| text(held.worker.as_ref())),
        &expected.hold.as_ref().map(|hold| hold.worker),
    )?;
    same(
        "a job's deadline",
        &job.reserved.as_ref().map(|held| held.deadline.0),
        &expected.hold.as_ref().map(|hold| hold.deadline),
    )?;
    same("a job's errors", &job.errors.len(), &expected.errors.len())?;
    compare_endings(job, expected)?;
    same("a job's result", &job.result.as_ref().map(|json| json.as_str()), &expected.result)?;
    let late =
        expected.late.iter().rev().take(5).rev().map(|late| (late.at, late.worker.to_owned(), late.result.to_owned()));
    let shown = job.late_results.iter().map(|late| {
        let result = late.result.as_ref().map_or("", |json| json.as_str());
        (late.at.0, text(late.worker.as_ref()).to_owned(), result.to_owned())
    });
    same("a job's late results", &shown.collect::<Vec<_>>(), &late.collect())?;
    let is = |states: &[State], at| states.contains(&expected.state).then_some(Millis(at));
    same("when a job is due", &job.due_at, &is(&[State::Delayed], expected.at))?;
    same(
        "when a job ended",
        &job.ended_at,
        &is(&[State::Completed, State::Cancelled, State::Dead], expected.at / STAMPS),
    )
}

/// Who completed it, and why others gave it back.
fn compare_endings(job: &Job, expected: &reference::Job) -> Verdict {
    let by = |by: &Completed| (text(by.worker.as_ref()).to_owned(), by.reserved_at.0, by.at.0, by.late);
    let is_completed = expected.state == State::Completed;
    let done = expected.ring.first().filter(|_| is_completed);
    let done = done.map(|e| (e.worker.to_owned(), e.reserved_at, e.at, e.how == How::DoneLate));
    same("who completed a job", &job.completed.as_ref().map(by), &done)?;
    let said = expected.ring.iter().filter(|e| e.how == How::Abandoned && !e.reason.is_empty());
    let said = said.map(|e| (e.at, e.worker.to_owned(), e.reason.to_owned())).collect();
    let shown = job.reasons.iter().map(|said| (said.at.0, text(said.worker.as_ref()).to_owned(), said.reason.clone()));
    same("why a job was given back", &shown.collect::<Vec<_>>(), &said)
}
