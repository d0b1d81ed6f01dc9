//! What somebody who has a job in hand says of it: calls that are read, done and answered alike.

use std::future::Future;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{
    http::{
        request::{
            extract::BeaconBody,
            fields::Fields,
            items::Items,
            query::NoQuery,
            rules::{self, PayloadLimit, check_size},
        },
        response::{field_error::Place, problem::Problem, shapes},
    },
    job::{JobId, Reservation, State as JobState, limits},
    payload::Json,
    store::{Abandon, Complete, Completion, Extend, Extension, Fail, Fault, Queues, Return},
};

/// `POST /jobs/extend`, `/jobs/complete`, `/jobs/abandon`, `/jobs/fail`
pub async fn settle<C: Settle>(
    State(queues): State<Queues>,
    State(PayloadLimit(most)): State<PayloadLimit>,
    _: NoQuery,
    body: BeaconBody,
) -> Result<Response, Problem> {
    let items = Items::of(body.text()?, limits::SETTLE_ITEMS)?;
    let read = |item| {
        let mut fields = Fields::of(item)?;
        let reservation = fields.need("reservation", rules::parsed(Reservation::parse));
        let call = C::read(&mut fields, reservation);
        let call = fields.finish(call)?;
        if let (field, Some(json)) = call.carried() {
            check_size(field, json, most)?;
        }
        Ok((call.reservation().job.clone(), call))
    };
    Ok(items.each(read, |call: C| call.settle(&queues), C::answer).await.into_response())
}

/// One of these calls.
pub trait Settle: Sized + Send + 'static {
    type Outcome: Send;
    type Answer: Serialize + Send;

    /// Takes all fields besides the reservation, whether or not that is a good one.
    fn read(fields: &mut Fields<'_>, reservation: Option<Reservation>) -> Option<Self>;

    fn reservation(&self) -> &Reservation;

    /// What it brings along, and in which field.
    fn carried(&self) -> (&'static str, Option<&Json>);

    fn settle(self, queues: &Queues) -> impl Future<Output = Result<Self::Outcome, Fault>> + Send;

    /// # Errors
    /// A problem, when the reservation has ended before.
    fn answer(job: JobId, outcome: Self::Outcome) -> Result<Self::Answer, Problem>;
}

impl Settle for Extend {
    type Outcome = Extension;
    type Answer = shapes::Extended;

    fn read(fields: &mut Fields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let lease_ms = fields.take("lease_ms", rules::whole(limits::LEASE_MS));
        let draft = fields.take("draft", rules::json);
        Some(Self { reservation: reservation?, lease_ms, draft })
    }

    fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    fn carried(&self) -> (&'static str, Option<&Json>) {
        ("draft", self.draft.as_ref())
    }

    async fn settle(self, queues: &Queues) -> Result<Extension, Fault> {
        queues.extend(self).await
    }

    fn answer(job: JobId, outcome: Extension) -> Result<Self::Answer, Problem> {
        match outcome {
            Extension::Extended { deadline, now } => {
                let (expires_in_ms, server_time) = (deadline.since(now), now.into());
                Ok(shapes::Extended { id: shapes::Text(job), state: JobState::Reserved, expires_in_ms, server_time })
            }
            Extension::Lost(lost) => Err(lost.into()),
        }
    }
}

impl Settle for Complete {
    type Outcome = Completion;
    type Answer = shapes::Completed;

    fn read(fields: &mut Fields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let result = fields.take("result", rules::json);
        Some(Self { reservation: reservation?, result })
    }

    fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    fn carried(&self) -> (&'static str, Option<&Json>) {
        ("result", self.result.as_ref())
    }

    async fn settle(self, queues: &Queues) -> Result<Completion, Fault> {
        queues.complete(self).await
    }

    fn answer(job: JobId, outcome: Completion) -> Result<Self::Answer, Problem> {
        match outcome {
            Completion::Done { late, duplicate } => {
                Ok(shapes::Completed { id: shapes::Text(job), state: JobState::Completed, duplicate, late })
            }
            Completion::Lost(lost) => Err(lost.into()),
        }
    }
}

impl Settle for Abandon {
    type Outcome = Return;
    type Answer = shapes::Returned;

    fn read(fields: &mut Fields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let reason = fields.take("reason", rules::words(limits::REASON));
        if fields.has("delay_ms") && fields.has("grace_ms") {
            fields.blame::<()>("grace_ms", "does not go together with delay_ms");
        }
        let delay_ms = fields.take("delay_ms", rules::whole(0..=limits::DELAY_MS));
        let skip = fields.take("skip", rules::flag).unwrap_or(false);
        let grace_ms = fields.take("grace_ms", rules::whole(0..=*limits::LEASE_MS.end()));
        let resumes = fields.take("resumes", rules::whole(0..=limits::COUNT));
        let draft = fields.take("draft", rules::json);
        Some(Self { reservation: reservation?, reason, delay_ms, skip, grace_ms, resumes, draft })
    }

    fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    fn carried(&self) -> (&'static str, Option<&Json>) {
        ("draft", self.draft.as_ref())
    }

    async fn settle(self, queues: &Queues) -> Result<Return, Fault> {
        queues.abandon(self).await
    }

    fn answer(job: JobId, outcome: Return) -> Result<Self::Answer, Problem> {
        returned(job, outcome)
    }
}

impl Settle for Fail {
    type Outcome = Return;
    type Answer = shapes::Returned;

    fn read(fields: &mut Fields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let error = fields.take("error", rules::words(limits::ERROR));
        Some(Self { reservation: reservation?, error })
    }

    fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    fn carried(&self) -> (&'static str, Option<&Json>) {
        ("error", None)
    }

    async fn settle(self, queues: &Queues) -> Result<Return, Fault> {
        queues.fail(self).await
    }

    fn answer(job: JobId, outcome: Return) -> Result<Self::Answer, Problem> {
        returned(job, outcome)
    }
}

fn returned(job: JobId, outcome: Return) -> Result<shapes::Returned, Problem> {
    match outcome {
        Return::Returned { state, duplicate } => Ok(shapes::Returned { id: shapes::Text(job), state, duplicate }),
        Return::Stays => Ok(shapes::Returned { id: shapes::Text(job), state: JobState::Reserved, duplicate: false }),
        Return::UnnamedSkip => Err(Problem::invalid(vec![Place::pointer("/skip", "needs a named worker")]).of_a_hit()),
        Return::Lost(lost) => Err(lost.into()),
    }
}
