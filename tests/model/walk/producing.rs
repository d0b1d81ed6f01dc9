//! Enqueue, on both.

use intray::{
    job::Millis,
    queue::{Dedupe, Delay, NewJob, Task, derived_id},
};

use super::{Walk, all};
use crate::{
    ops::{Item, Same, Wait, Work},
    reference::{New, Said},
    words::{CLIENTS, KEYS, LOCKS, PAYLOADS, TRACE, Verdict, dedupe_digest, json, locks, name, priority, same},
};

impl Walk<'_> {
    pub(super) async fn enqueue(&mut self, items: &[Item]) -> Verdict {
        let described: Vec<_> = items.iter().enumerate().map(|(i, item)| self.describe(i, item)).collect();
        let (jobs, news): (Vec<_>, Vec<_>) = described.into_iter().unzip();
        let answers = all(jobs.into_iter().map(|job| self.real.handle.enqueue(job))).await?;
        self.model.be_known();
        for (new, answer) in news.iter().zip(answers) {
            let expected = self.model.enqueue(&self.real.queue, new);
            self.note(|| format!("  {}: {answer:?}", &new.id.as_str()[..6]));
            self.met(format!("enqueue {answer:?}"));
            same("enqueue answers", &answer, &expected)?;
            let is_kept = self.model.jobs.contains_key(&new.id) || self.model.stubs.contains_key(&new.id);
            if is_kept && !self.ids.contains(&new.id) {
                self.ids.push(new.id);
            }
        }
        Ok(())
    }

    /// For both; `place` is the item's in its array.
    fn describe(&mut self, place: usize, item: &Item) -> (NewJob, New) {
        let fresh = self.fresh().to_be_bytes();
        let key = item.idempotency.map(|with| [b'i', with.key, place as u8]);
        let id = derived_id(self.real.queue.clone(), &[key.as_ref().map_or(&fresh[..], |key| key)]);
        let fingerprint = item.idempotency.map(|with| [with.body; 8]);
        let ((_, canonical), client) = (PAYLOADS[item.work.payload], CLIENTS[item.client]);
        let by_payload = Some(dedupe_digest(client, 'p', canonical));
        let (dedupe, digest) = match item.dedupe {
            Same::Setting => (Dedupe::QueueSetting, by_payload),
            Same::Payload => (Dedupe::Payload, by_payload),
            Same::Key(key) => (Dedupe::Key(KEYS[key].to_owned()), Some(dedupe_digest(client, 'k', KEYS[key]))),
            Same::Off => (Dedupe::Off, None),
        };
        let (task, said) = self.work(&item.work);
        let (key, key_by_default) = (digest, matches!(item.dedupe, Same::Setting));
        let new = New { id: id.code, said, priority: item.priority, client, key, key_by_default, fingerprint };
        let job = NewJob { id, task, priority: priority(item.priority), client: name(client), dedupe, fingerprint };
        (job, new)
    }

    /// What there is to do, for both.
    pub(super) fn work(&self, work: &Work) -> (Task, Said) {
        let (now, (payload, _)) = (self.model.now, PAYLOADS[work.payload]);
        let (delay, due) = match work.delay {
            None => (None, 0),
            Some(Wait::For(ms)) => (Some(Delay::For(ms)), now + u64::from(ms)),
            Some(Wait::Until(ms)) => {
                let at = now.saturating_add_signed(ms.into());
                (Some(Delay::Until(Millis(at))), at)
            }
        };
        let (lease_ms, max_attempts, backoff) = (work.lease_ms, work.max_attempts, work.backoff);
        let names: Vec<_> = work.locks.iter().map(|lock| LOCKS[*lock]).collect();
        let task = Task {
            payload: json(payload),
            delay,
            lease_ms,
            max_attempts,
            backoff,
            locks: locks(&names),
            traceparent: work.traced.then(|| TRACE.to_owned()),
        };
        (task, Said { payload, due, lease_ms, max_attempts, backoff, locks: names, traced: work.traced })
    }
}
