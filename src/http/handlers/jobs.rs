//! Single jobs: enqueue, inspect, cancel, change.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use crate::{
    access::{Caller, Pass},
    http::{
        handlers::{
            ingest,
            made_queues::MadeQueues,
            new_job::{EnqueueContext, enqueued},
            recent_workers::{GivenNames, RecentCall},
            routing::{ROUTING_FIELDS, read_routing_patch},
            task::{EnqueueBody, JsonCall, TIME_FIELDS, read_time_limits},
        },
        middleware::{
            audit::{AuditEntry, Audited},
            auth,
        },
        request::{
            body::JsonBody,
            items::{ItemAnswers, Items},
            long_work,
            path::InPath,
            query::{NoQuery, Query, read_wait},
            reader,
            rules::{self, PayloadLimit},
        },
        response::{counted, json::created, problem::Problem, shapes},
    },
    job::{JobId, State as JobState, limits},
    store::{Cancellation, DerivedIds, JobPatch, NewJob, Queues, Reprioritized},
    waiting::{WaitedRead, Waiting},
};

/// `POST /jobs`
pub async fn enqueue(
    State(queues): State<Queues>,
    State(PayloadLimit(max_payload)): State<PayloadLimit>,
    body: EnqueueBody,
) -> Result<Response, Problem> {
    let JsonCall { caller, repeat, traceparent, creates, body } = match body {
        EnqueueBody::Json(whole) => whole,
        EnqueueBody::Lines(lines) => return ingest::take(queues, max_payload, *lines).await,
    };
    let mut call = EnqueueContext { caller, repeat, traceparent, max_payload, index: 0, derived: Vec::new() };
    let items = long_work::run(body.0.len(), || {
        Ok::<_, Problem>(Items::of(body.text()?, limits::ENQUEUE_ITEMS)?.read(|item| call.job(item)))
    })?;
    // A single job reports a reused key itself; of an array nothing is stored if one item belongs to another call.
    if let Some(repeat) = call.repeat.filter(|_| items.is_array()) {
        let is_reused = queues.is_reused(DerivedIds::Jobs(&call.derived), repeat.fingerprint()).await;
        if is_reused.map_err(Problem::from_read)? {
            return Err(Problem::key_reused());
        }
    }
    let made = MadeQueues::find(&queues, creates, items.calls().map(|job| &job.id.queue)).await;
    let put = async |job: NewJob| {
        if made.has(&job.id.queue)? { queues.enqueue(job).await.map(Some) } else { Ok(None) }
    };
    let answers = items.each(put, |(), outcome| enqueued(outcome)).await;
    Ok(match answers {
        ItemAnswers::One(Ok(job)) if !job.duplicate => {
            let JobId { queue, code } = &job.id;
            created(&["jobs/", queue.as_str(), "-", code.as_str()], &job)
        }
        answers => answers.into_response(),
    })
}

/// `GET /jobs/{id}`
pub async fn inspect(
    State(waiting): State<Waiting>,
    pass: Pass,
    InPath(id): InPath<JobId>,
    mut query: Query,
) -> Result<Response, Problem> {
    let wait = read_wait(&mut query);
    let wait = query.finish(Some(wait))?;
    let who = reader::who(&pass);
    let seen = auth::while_valid(&pass, wait, waiting.job(&id, wait, &who)).await?;
    let WaitedRead { what, turn } = seen.map_err(reader::read_problem)?;
    let job = (*what).as_ref().ok_or_else(Problem::unknown_job)?;
    Ok(counted::answer(turn, &shapes::JobBody::new(job)))
}

/// `DELETE /jobs/{id}`
pub async fn cancel(
    State(queues): State<Queues>,
    InPath(id): InPath<JobId>,
    caller: Caller,
    mut query: Query,
) -> Result<Audited<shapes::CancelledBody>, Problem> {
    let force = query.take("force", rules::flag_text).unwrap_or(false);
    let force = query.finish(Some(force))?;
    let act = AuditEntry::on_job("cancel", &id, &caller);
    match queues.cancel(id.clone(), force, &act.actor()).await? {
        Cancellation::Cancelled => {
            Ok(Audited(act.counted(1), shapes::CancelledBody { id, state: JobState::Cancelled }))
        }
        Cancellation::UnknownJob => Err(Problem::unknown_job()),
        Cancellation::WrongState(state) => Err(Problem::wrong_state(state)),
    }
}

/// `PATCH /jobs/{id}`
pub async fn patch(
    State(queues): State<Queues>,
    InPath(id): InPath<JobId>,
    caller: Caller,
    recent: RecentCall,
    _: NoQuery,
    body: JsonBody,
) -> Result<Audited<shapes::ChangedBody>, Problem> {
    let mut fields = body.fields()?;
    let mut others = TIME_FIELDS.into_iter().chain(ROUTING_FIELDS);
    let priority = match others.any(|field| fields.has(field)) {
        true => fields.take("priority", rules::priority),
        false => fields.require("priority", rules::priority),
    };
    let (limits, routing) = (read_time_limits(&mut fields), read_routing_patch(&mut fields));
    let names_assignees = routing.assignees.is_some();
    let patch = fields.finish(Some(JobPatch { priority, limits, routing }))?;
    let unseen = recent.unseen(&id.queue, &GivenNames::of_patch(&patch.routing)).await;
    let act = AuditEntry::on_job("reprioritize", &id, &caller).with(body.parameters(&[]));
    match queues.reprioritize(id.clone(), patch, &act.actor()).await? {
        Reprioritized::Changed { state, priority, route } => {
            Ok(Audited(act.counted(1), shapes::ChangedBody::new(id, state, priority, route, unseen)))
        }
        Reprioritized::UnknownJob => Err(Problem::unknown_job()),
        Reprioritized::WrongState(state) => Err(Problem::wrong_state(state)),
        Reprioritized::Untimely(errors) => Err(Problem::untimely(&errors)),
        Reprioritized::NoAssigneeLeft => Err(Problem::no_assignee_left(names_assignees)),
        Reprioritized::TooFewWorkers => Err(Problem::too_few_workers()),
    }
}
