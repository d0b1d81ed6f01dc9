//! Reserve and its undo, on both.

use intray::{
    job::{Code, Millis, QueueName},
    queue::{Handout, Reserve, ReserveOutcome, Undo},
};

use super::{Walk, broken, nth_of_undos};
use crate::{
    ops::{Ask, Call, Caller, Nth},
    reference::{Asked, Given, Shown},
    words::{DRAFTS, LOCKS, TRACE, Verdict, WORKERS, name, nonce, same, text},
};

impl Walk<'_> {
    /// They go out together, and each finds what the one before has left. Of a queue that looks at a few jobs at a time
    /// each asks alone and for one, as who comes next and gets how many depends on how far a script sees.
    pub(super) async fn reserve(&mut self, asks: &[Ask]) -> Verdict {
        if !self.is_short_sighted {
            return self.reserve_together(asks).await;
        }
        for ask in asks {
            self.reserve_together(&[Ask { limit: 1, ..ask.clone() }]).await?;
        }
        Ok(())
    }

    async fn reserve_together(&mut self, asks: &[Ask]) -> Verdict {
        let (mut calls, asked): (Vec<_>, Vec<_>) = asks.iter().map(|ask| self.prepare(ask)).unzip();
        let is_aside = matches!(asks, [Ask { aside: true, id: None, .. }]);
        if is_aside {
            calls[0].queues.insert(0, QueueName::default());
        }
        let handle = &self.real.handle;
        let outcomes = futures_util::future::join_all(calls.into_iter().map(|call| handle.reserve(call))).await;
        let mut ends = Vec::new();
        for ((ask, asked), outcome) in asks.iter().zip(&asked).zip(outcomes) {
            let outcome = outcome.map_err(broken)?;
            self.note(|| format!("  {:?} is given {outcome:?}", asked.worker));
            let given = match is_aside {
                true => self.model.reserve_with_another(asked, &order(&outcome)),
                false => self.model.reserve(asked, &order(&outcome)),
            };
            self.met(format!("reserve {given:?}"));
            let (undo, end) = self.settle_outcome(given, outcome)?;
            ends.push(end);
            match (undo, ask.caller) {
                (None, _) => {}
                (Some((_, undo)), Caller::Hears) => undo.disarm(),
                (Some(unclear), Caller::Unclear | Caller::Gone) => self.unclear.push(unclear),
            }
        }
        // What all of them were told at the end of the script.
        for end in ends.into_iter().flatten() {
            self.check_end(&end)?;
        }
        for ask in asks {
            if ask.caller == Caller::Gone && !self.unclear.is_empty() {
                self.give_up(self.unclear.len() - 1).await;
            }
        }
        Ok(())
    }

    fn prepare(&mut self, ask: &Ask) -> (Reserve, Asked) {
        let mut worker = ask.worker.map_or("", |n| WORKERS[n]);
        let mut number = self.fresh();
        if let Call::Again(nth) = ask.call
            && let Some(&before) = nth.of(&self.calls)
        {
            (worker, number) = before;
        }
        self.calls.push((worker, number));
        let (nonce, written) = nonce(number);
        let id = ask.id.map(|which| self.which(which));
        let asked = Asked {
            worker,
            nonce: written,
            limit: ask.limit as usize,
            lease_ms: ask.lease_ms,
            id: id.as_ref().map(|id| id.code),
        };
        let queues = vec![self.real.queue.clone()];
        (Reserve { queues, worker: name(worker), limit: ask.limit, lease_ms: ask.lease_ms, nonce, id }, asked)
    }

    /// Compares one answer with the model's, and learns the secrets.
    fn settle_outcome(
        &mut self,
        given: Given,
        outcome: ReserveOutcome,
    ) -> Result<(Option<Unclear>, Option<End>), String> {
        let unlike = |given: &Given, outcome: &ReserveOutcome| {
            Err(format!("reserve answers\n  the model: {given:?}\n  the queue: {outcome:?}"))
        };
        match (given, outcome) {
            (
                Given::New(shown) | Given::Held(shown),
                ReserveOutcome::Nothing { reason, retry_after_ms, remaining, now, .. },
            ) if shown.is_empty() => {
                Ok((None, Some(End { remaining, now, nothing: Some((reason, retry_after_ms, false)) })))
            }
            (Given::Skipped, ReserveOutcome::Nothing { reason, retry_after_ms, remaining, now, .. }) => {
                Ok((None, Some(End { remaining, now, nothing: Some((reason, retry_after_ms, true)) })))
            }
            (Given::New(expected), ReserveOutcome::Jobs { jobs, remaining, now, undo }) => {
                let ids: Vec<_> = jobs.iter().map(|job| job.reservation.job.code).collect();
                same("reserve hands out", &ids, &expected.iter().map(|job| job.id).collect())?;
                let mut taken = Vec::new();
                for (job, expected) in jobs.iter().zip(expected) {
                    let secret = job.reservation.secret;
                    same("a job as it is handed out", &shown(job, None)?, &expected)?;
                    self.meet_draft(expected.id);
                    let hold = self.model.jobs.get_mut(&expected.id).and_then(|job| job.hold.as_mut());
                    hold.ok_or("it is held")?.secret = Some(secret);
                    taken.push((expected.id, secret));
                }
                self.given.extend(&taken);
                Ok((Some((taken, undo)), Some(End { remaining, now, nothing: None })))
            }
            (Given::Held(expected), ReserveOutcome::Jobs { jobs, remaining, now, undo }) => {
                let jobs: Vec<_> =
                    jobs.iter().map(|job| shown(job, Some(job.reservation.secret))).collect::<Result<_, _>>()?;
                same("reserve gives again", &jobs, &expected)?;
                drop(undo);
                Ok((None, Some(End { remaining, now, nothing: None })))
            }
            (Given::UnknownJob, ReserveOutcome::UnknownJob)
            | (Given::Paused, ReserveOutcome::QueuePaused)
            | (Given::WorkerLimit, ReserveOutcome::WorkerLimit) => Ok((None, None)),
            (Given::NotWaiting(expected), ReserveOutcome::NotWaiting(state)) => {
                same("reserve finds the job in state", &state, &expected)?;
                Ok((None, None))
            }
            (given, outcome) => unlike(&given, &outcome),
        }
    }

    /// Somebody has a job that somebody has typed something for.
    fn meet_draft(&mut self, id: Code) {
        let job = &self.model.jobs[&id];
        let Some(draft) = job.draft else { return };
        let whom = match job.worker() {
            "" => "nobody",
            worker if worker == draft.worker => "its owner",
            _ => "another",
        };
        self.met(format!("a draft for {whom}"));
    }

    fn check_end(&self, end: &End) -> Verdict {
        same("remaining", &end.remaining, &self.model.counts().waiting)?;
        same("reserve says that it is", &end.now, &Millis(self.model.now))?;
        let Some((reason, retry_after_ms, skipped)) = end.nothing else { return Ok(()) };
        same("reserve gives nothing because", &reason, &self.model.reason(skipped))?;
        let soon = self.model.next_overdue().map(|moment| moment.saturating_sub(self.model.now));
        let next = soon.unwrap_or(5_000).clamp(250, 5_000);
        match (next..=(next + next / 10).min(5_000)).contains(&retry_after_ms) {
            true => Ok(()),
            false => Err(format!("retry after {retry_after_ms} ms, and something happens in {next} ms")),
        }
    }

    pub(super) async fn undo(&mut self, nth: Nth) -> Verdict {
        if let Some(place) = nth_of_undos(nth, &self.unclear) {
            self.give_up(place).await;
        }
        Ok(())
    }

    /// The caller is gone: the guard is dropped, and what it begins is waited for.
    async fn give_up(&mut self, place: usize) {
        let (taken, undo) = self.unclear.remove(place);
        drop(undo);
        self.real.handle.close().await;
        for (id, secret) in taken {
            self.note(|| format!("  undone: {}", self.short(id)));
            self.model.undo(id, &secret);
        }
    }
}

type Unclear = (Vec<(Code, Code)>, Undo);

/// What an answer says of the queue as it is then.
struct End {
    remaining: u64,
    now: Millis,
    /// Why, when to ask again, and whether all that waited was skipped.
    nothing: Option<(intray::queue::Reason, u64, bool)>,
}

fn order(outcome: &ReserveOutcome) -> Vec<Code> {
    match outcome {
        ReserveOutcome::Jobs { jobs, .. } => jobs.iter().map(|job| job.reservation.job.code).collect(),
        _ => Vec::new(),
    }
}

fn shown(job: &Handout, secret: Option<Code>) -> Result<Shown, String> {
    let words = |list: &[&'static str], word: &str| {
        list.iter().find(|known| **known == word).copied().ok_or(format!("{word:?} is nobody"))
    };
    let payloads = crate::words::PAYLOADS.map(|(payload, _)| payload);
    Ok(Shown {
        id: job.reservation.job.code,
        secret,
        payload: words(&payloads, job.payload.as_str())?,
        attempt: job.attempt,
        deadline: job.deadline.0,
        reserved_at: job.reserved_at.0,
        priority: job.priority.get(),
        client: words(&crate::words::CLIENTS, text(job.client.as_ref()))?,
        worker: words(&[&WORKERS[..], &[""]].concat(), text(job.worker.as_ref()))?,
        enqueued_at: job.enqueued_at.0,
        resumes: job.resumes,
        locks: job.locks.iter().map(|lock| words(&LOCKS, lock.as_str())).collect::<Result<_, _>>()?,
        batch: job.batch.as_ref().map(|batch| batch.code),
        traced: job.traceparent.as_deref() == Some(TRACE),
        draft: job.draft.as_ref().map(|draft| words(&DRAFTS, draft.as_str())).transpose()?,
    })
}
