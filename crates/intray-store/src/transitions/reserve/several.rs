//! A reserve over several queues.
//!
//! Each queue is read first, so that the rule of one queue holds for all of them together: a repeated call gets its jobs
//! again, a worker at its limit gets those it holds, and any other call takes jobs from the first queue that has some.

use futures_util::future::try_join_all;
use intray_redis::{Applied, Fault};

use super::{Mode, QueueAnswer, QueueLook, Reserve, ReserveOutcome, finish};
use crate::{
    handle::Queues,
    job::{Millis, QueueName},
};

impl Queues {
    pub(super) async fn reserve_from_several(&self, call: &Reserve) -> Result<ReserveOutcome, Fault> {
        let asked = call.queues.iter().map(|queue| (queue, self.look_at(queue, Some(call), &[])));
        let (looks, away) = self.ask_each(asked).await?;
        let (mut unavailable, faults): (Vec<_>, Vec<_>) = away.into_iter().unzip();
        let answers = match shares(&looks, call.limit) {
            Some(shares) => self.resume(call, &looks, shares).await?,
            None => self.take_in_order(call, looks, &mut unavailable, faults).await?,
        };
        Ok(finish(answers, unavailable))
    }

    /// Gives back what the caller has already, as many from each queue as its share says.
    async fn resume(
        &self,
        call: &Reserve,
        looks: &[(QueueName, QueueLook)],
        shares: Vec<u32>,
    ) -> Result<Vec<QueueAnswer>, Fault> {
        let asked = looks.iter().zip(shares).map(|((queue, look), share)| async move {
            match share {
                0 => Ok(look.nothing()),
                _ => self.parts.batcher.call(queue, self.request(call, Mode::Resume, share, queue)).await,
            }
        });
        try_join_all(asked).await
    }

    /// Asks one queue after the other until one gives jobs. Adds those whose node is away to `unavailable`.
    async fn take_in_order(
        &self,
        call: &Reserve,
        looks: Vec<(QueueName, QueueLook)>,
        unavailable: &mut Vec<QueueName>,
        mut faults: Vec<Fault>,
    ) -> Result<Vec<QueueAnswer>, Fault> {
        let mut answers = Vec::with_capacity(looks.len());
        for (queue, look) in looks {
            let is_served = answers.iter().any(|answer: &QueueAnswer| !answer.jobs.is_empty());
            if is_served || !look.can_give {
                answers.push(look.nothing());
                continue;
            }
            match self.parts.batcher.call(&queue, self.request(call, Mode::Next, call.limit, &queue)).await {
                Ok(answer) => answers.push(answer),
                // Nothing was reserved there, so the next queue may serve. An unknown effect ends the call.
                Err(fault @ Fault::Unavailable { applied: Applied::No, .. }) if self.is_of_one_node(&fault) => {
                    unavailable.push(queue);
                    faults.push(fault);
                }
                Err(fault) => return Err(fault),
            }
        }
        match faults.pop() {
            Some(fault) if answers.is_empty() => Err(fault),
            _ => Ok(answers),
        }
    }
}

/// How many jobs each queue gives back, if the call was made before or its worker is at the limit. `None`: it may take new
/// ones.
fn shares(looks: &[(QueueName, QueueLook)], limit: u32) -> Option<Vec<u32>> {
    if looks.iter().any(|(_, look)| look.replayed) {
        return Some(looks.iter().map(|(_, look)| if look.replayed { limit } else { 0 }).collect());
    }
    looks.iter().any(|(_, look)| look.at_limit).then(|| oldest(looks, limit))
}

/// The oldest reservations of the worker over all queues, counted by queue.
fn oldest(looks: &[(QueueName, QueueLook)], limit: u32) -> Vec<u32> {
    let held = looks.iter().enumerate().flat_map(|(i, (_, look))| look.since.iter().map(move |&since| (since, i)));
    let mut held: Vec<(Millis, usize)> = held.collect();
    held.sort_unstable();
    let mut shares = vec![0; looks.len()];
    held.iter().take(limit as usize).for_each(|(_, i)| shares[*i] += 1);
    shares
}
