//! complete: the holder reports success.

use intray_redis::{Args, Fault};

use crate::{
    job::{Reservation, ids, limits},
    payload::Json,
    store::{
        handle::Queues,
        layout::reservation::{Lost, OF_A_RESERVATION},
        redis::read::broken,
        transition::{Effect, Grouped, Reply, Ride, Transition},
    },
};

/// The holder reports success.
#[derive(Debug, Clone)]
pub struct Complete {
    pub reservation: Reservation,
    pub result: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// `late`: after the deadline, while nobody had taken the job. `duplicate`: the same call again, counted once.
    Done { late: bool, duplicate: bool },
    /// The result, if this was ever a reservation of the job, is kept among its late results.
    Lost(Lost),
}

impl Queues {
    /// Reports success, and keeps the result.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn complete(&self, call: Complete) -> Result<Completion, Fault> {
        let queue = call.reservation.job.queue.clone();
        self.go(&queue, call).await
    }
}

impl Complete {
    fn result(&self) -> &str {
        self.result.as_ref().map_or("", Json::as_str)
    }
}

impl Transition for Complete {
    type Outcome = Completion;
    const SCRIPT: &'static str = "complete";

    fn args(&self) -> Args {
        let (id, secret) = (self.reservation.job.code.as_str(), self.reservation.secret.as_str());
        let mut args = Args::with_room(2, id.len() + secret.len() + ids::DIGEST_LEN + self.result().len());
        args.push(id).put(|claim| {
            claim.extend(secret.as_bytes());
            claim.extend(ids::secret_digest(&self.reservation.secret));
            claim.extend(self.result().as_bytes());
        });
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Completion, Fault> {
        let (meter, queue) = (&reply.runner.meter, reply.queue);
        let (word, mut fields) = reply.words()?;
        match word {
            "done" => {
                let late = fields.flag()?;
                meter.queues.record_held(queue.as_str(), fields.count()? as f64 / 1e3);
                Ok(Completion::Done { late, duplicate: false })
            }
            "again" => Ok(Completion::Done { late: fields.flag()?, duplicate: true }),
            "lost" => Lost::read(&mut fields).map(Completion::Lost),
            _ => Err(broken("done, again or lost")),
        }
    }

    fn effect(&self, outcome: &Completion) -> Effect {
        match outcome {
            Completion::Done { .. } => Effect::Moved,
            Completion::Lost(_) => Effect::Lost,
        }
    }
}

impl Grouped for Complete {
    const RIDE: Ride = OF_A_RESERVATION;

    fn needs_memory(&self) -> bool {
        self.result().len() > limits::SMALL_RESULT
    }

    fn turned_away(&self) -> Result<Completion, Fault> {
        Ok(Completion::Lost(Lost::UNKNOWN))
    }
}
