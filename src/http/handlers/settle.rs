//! The calls that name a reservation: extend, complete, abandon, fail, hand over, undo. They are read and answered alike.

use std::future::Future;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{
    access::StoreRate,
    http::{
        request::{
            body::BeaconBody,
            fields::JsonFields,
            items::Items,
            query::NoQuery,
            rules::{self, PayloadLimit, check_size},
        },
        response::{field_error::FieldError, problem::Problem, shapes},
    },
    job::{JobId, Reservation, State as JobState, limits},
    payload::Json,
    store::{Abandon, Applied, Complete, Completion, Extend, Extension, Fail, Fault, Queues, Return},
};

/// The field of what is written so far: it is stored while the reservation is live.
pub const DRAFT: &str = "draft";

/// `POST /jobs/extend`, `/jobs/complete`, `/jobs/abandon`, `/jobs/fail`, `/jobs/hand-over`, `/jobs/undo`
pub async fn settle<C: Settle>(
    State(queues): State<Queues>,
    State(PayloadLimit(max)): State<PayloadLimit>,
    State(stored): State<StoreRate>,
    _: NoQuery,
    BeaconBody(body, _permit): BeaconBody,
) -> Result<Response, Problem> {
    let items = Items::of(body.text()?, limits::SETTLE_ITEMS)?;
    let read = |item| {
        let mut fields = JsonFields::of(item)?;
        let reservation = fields.require("reservation", rules::parsed(Reservation::parse));
        let call = C::read(&mut fields, reservation);
        let call = fields.finish(call)?;
        if let (field, Some(json)) = call.carried() {
            check_size(field, json, max)?;
            stored.take(call.reservation(), field).map_err(|ms| Problem::stored_too_often(field, ms))?;
        }
        Ok((call.reservation().job.clone(), call))
    };
    let (queues, stored) = (&queues, &stored);
    let settle = |call: C| async move {
        let counted = call.carried().1.map(|_| (call.reservation().clone(), call.carried().0));
        let outcome = call.settle(queues).await;
        let is_stored = match &outcome {
            Ok(outcome) => C::stores(outcome),
            Err(fault) => fault.applied() != Applied::No,
        };
        if let (false, Some((reservation, field))) = (is_stored, counted) {
            stored.give_back(reservation, field);
        }
        outcome
    };
    Ok(items.each(read, settle, C::answer).await.into_response())
}

/// One of the calls that name a reservation.
pub trait Settle: Sized + Send + 'static {
    type Outcome: Send;
    type Answer: Serialize + Send;

    /// Reads all fields besides the reservation, even if that is invalid.
    fn read(fields: &mut JsonFields<'_>, reservation: Option<Reservation>) -> Option<Self>;

    fn reservation(&self) -> &Reservation;

    /// The JSON that the call stores, and its field.
    fn carried(&self) -> (&'static str, Option<&Json>);

    fn settle(self, queues: &Queues) -> impl Future<Output = Result<Self::Outcome, Fault>> + Send;

    /// Whether what the call carried was stored, or was there.
    fn stores(_outcome: &Self::Outcome) -> bool {
        true
    }

    /// # Errors
    /// A problem, when the reservation has ended.
    fn answer(job: JobId, outcome: Self::Outcome) -> Result<Self::Answer, Problem>;
}

impl Settle for Extend {
    type Outcome = Extension;
    type Answer = shapes::ExtendedBody;

    fn read(fields: &mut JsonFields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let lease_ms = fields.take("lease_ms", rules::whole(limits::LEASE_MS));
        let draft = fields.take("draft", rules::json);
        Some(Self { reservation: reservation?, lease_ms, draft })
    }

    fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    fn carried(&self) -> (&'static str, Option<&Json>) {
        (DRAFT, self.draft.as_ref())
    }

    async fn settle(self, queues: &Queues) -> Result<Extension, Fault> {
        queues.extend(self).await
    }

    fn answer(job: JobId, outcome: Extension) -> Result<Self::Answer, Problem> {
        match outcome {
            Extension::Extended { deadline, now } => {
                let (expires_in_ms, server_time) = (deadline.since(now), now);
                Ok(shapes::ExtendedBody { id: job, state: JobState::Reserved, expires_in_ms, server_time })
            }
            Extension::Closing { final_in_ms } => Err(Problem::closing(final_in_ms)),
            Extension::Lost(lost) => Err(lost.into()),
        }
    }
}

impl Settle for Complete {
    type Outcome = Completion;
    type Answer = shapes::CompletedBody;

    fn read(fields: &mut JsonFields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let result = fields.take("result", rules::json);
        let undo_ms = fields.take("undo_ms", rules::whole(limits::UNDO_MS)).unwrap_or(0);
        let resumes = fields.take("resumes", rules::whole(0..=limits::COUNT));
        Some(Self { reservation: reservation?, result, undo_ms, resumes })
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

    fn stores(outcome: &Completion) -> bool {
        !matches!(outcome, Completion::Invalid(_))
    }

    fn answer(job: JobId, outcome: Completion) -> Result<Self::Answer, Problem> {
        match outcome {
            Completion::Done { late, duplicate } => {
                let (state, is_final, final_in_ms) = (JobState::Completed, true, None);
                Ok(shapes::CompletedBody { id: job, state, duplicate, late, is_final, final_in_ms })
            }
            Completion::Closing { final_in_ms, duplicate } => {
                let (state, late, is_final, final_in_ms) = (JobState::Reserved, false, false, Some(final_in_ms));
                Ok(shapes::CompletedBody { id: job, state, duplicate, late, is_final, final_in_ms })
            }
            Completion::HasOtherResult { final_in_ms } => Err(Problem::closing(final_in_ms)),
            Completion::Undone => Err(Problem::undone()),
            Completion::Invalid(faults) => Err(Problem::invalid_result(faults)),
            Completion::Lost(lost) => Err(lost.into()),
        }
    }
}

impl Settle for Abandon {
    type Outcome = Return;
    type Answer = shapes::ReturnedBody;

    fn read(fields: &mut JsonFields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let reason = fields.take("reason", rules::text_up_to(limits::REASON));
        if fields.has("delay_ms") && fields.has("grace_ms") {
            fields.reject::<()>("grace_ms", "does not go together with delay_ms");
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
        (DRAFT, self.draft.as_ref())
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
    type Answer = shapes::ReturnedBody;

    fn read(fields: &mut JsonFields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let error = fields.take("error", rules::text_up_to(limits::ERROR));
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

fn returned(id: JobId, outcome: Return) -> Result<shapes::ReturnedBody, Problem> {
    let (state, duplicate) = match outcome {
        Return::Returned { state, duplicate } => (state, duplicate),
        Return::Stays => (JobState::Reserved, false),
        Return::UnnamedSkip => {
            let error = FieldError::pointer("/skip", "needs a named worker");
            return Err(Problem::invalid(vec![error]).with_valid_reservation());
        }
        Return::BeyondExpiry => {
            let error = FieldError::pointer("/delay_ms", "must end before the job expires");
            return Err(Problem::invalid(vec![error]).with_valid_reservation());
        }
        Return::Closing { final_in_ms } => return Err(Problem::closing(final_in_ms)),
        Return::Lost(lost) => return Err(lost.into()),
    };
    Ok(shapes::ReturnedBody { id, state, duplicate })
}
