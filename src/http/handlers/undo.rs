//! The call by which a worker takes a completion back. It is read and answered as the others that name a reservation.

use crate::{
    http::{
        handlers::settle::Settle,
        request::fields::JsonFields,
        response::{problem::Problem, shapes},
    },
    job::{JobId, Reservation, State},
    payload::Json,
    store::{Fault, Queues, Reopen, Reopened},
};

impl Settle for Reopen {
    type Outcome = Reopened;
    type Answer = shapes::UndoneBody;

    fn read(_: &mut JsonFields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        Some(Self { reservation: reservation? })
    }

    fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    fn carried(&self) -> (&'static str, Option<&Json>) {
        ("reservation", None)
    }

    async fn settle(self, queues: &Queues) -> Result<Reopened, Fault> {
        queues.reopen(self).await
    }

    fn answer(id: JobId, outcome: Reopened) -> Result<Self::Answer, Problem> {
        match outcome {
            Reopened::Held { deadline, now, resumes, draft, duplicate } => {
                let (state, expires_in_ms, server_time) = (State::Reserved, deadline.since(now), now);
                Ok(shapes::UndoneBody { id, state, duplicate, expires_in_ms, server_time, resumes, draft })
            }
            Reopened::Lost(lost) => Err(lost.into()),
        }
    }
}
