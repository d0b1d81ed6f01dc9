//! Batches: jobs that are enqueued together and whose results are read together.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use crate::{
    access::{Caller, Pass, RequiredRole},
    http::{
        handlers::{
            made_queues::MadeQueues,
            new_batch::created_batch,
            opinions,
            overlap::{create_each, create_overlap},
            queues::require_queue,
            task::{IdempotentCall, JsonCall, read_task},
        },
        middleware::{
            audit::{AuditEntry, Audited},
            auth,
        },
        request::{
            body::JsonBody,
            fields::JsonFields,
            headers::Traceparent,
            long_work,
            path::InPath,
            query::{NoQuery, Query, read_page, read_wait},
            reader::{self, ReadCall},
            rules::{self, PayloadLimit, check_size},
        },
        response::{
            counted,
            json::{JsonResponse, created},
            problem::{Problem, ProblemType},
            shapes,
        },
    },
    job::{BatchId, Name, QueueName, limits},
    store::{self, Appended, BatchCancellation, Cursor, NewBatch, NewMember, Queues},
    waiting::{WaitedRead, Waiting},
};

/// Results on a page without a `limit`.
const DEFAULT_RESULTS: u32 = 100;

/// `POST /batches`
pub async fn create(
    State(queues): State<Queues>,
    State(PayloadLimit(max_payload)): State<PayloadLimit>,
    call: JsonCall,
) -> Result<Response, Problem> {
    let text = call.body.text()?;
    if text.trim_start().starts_with('[') {
        return create_each(&queues, &call, text, max_payload).await;
    }
    let fields = JsonFields::of(text)?;
    let (batch, is_known) = match fields.has("overlap") {
        true => create_overlap(&queues, &call, fields, max_payload).await?,
        false => {
            let new = long_work::run(text.len(), || read_batch(fields, &call, max_payload))?;
            if let Some(repeat) = &call.repeat {
                repeat.guard_batches(&queues, &[new.id.queue.clone()].into()).await?;
            }
            let (queue, made) =
                (new.id.queue.clone(), MadeQueues::find(&queues, call.creates, [&new.id.queue].into_iter()).await);
            created_batch(made.put(&queue, queues.create_batch(new)).await?)?
        }
    };
    Ok(created(&["batches/", &batch.id.to_string()], shapes::CreatedBatchBody::new(&batch, is_known)))
}

/// `GET /batches`
pub async fn list(
    State(queues): State<Queues>,
    caller: Caller,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let queue = query.take("queue", QueueName::parse).unwrap_or_default();
    let filter = opinions::read_filter(&mut query);
    let (after, limit) = read_page(&mut query, Cursor::of_batches);
    query.finish(Some(()))?;
    auth::queue(&caller, &queue)?;
    if let Some(filter) = filter {
        require_queue(&queues, &queue).await?;
        return opinions::list(&queues, &caller, &reader, &queue, filter).await;
    }
    let turn = reader.read_permit().await?;
    require_queue(&queues, &queue).await?;
    let page = queues.batches(&queue, after, limit).await.map_err(Problem::from_read)?;
    let batches = page.batches.iter().map(shapes::BatchBody::new).collect();
    Ok(counted::answer(turn, &shapes::BatchPageBody { batches, next: page.next }))
}

/// `GET /batches/{id}`
pub async fn inspect(
    State(waiting): State<Waiting>,
    State(queues): State<Queues>,
    pass: Pass,
    reader: ReadCall,
    InPath(id): InPath<BatchId>,
    mut query: Query,
) -> Result<Response, Problem> {
    let part = opinions::read_part(&mut query);
    if part.is_some() && query.has("wait_ms") {
        query.reject("wait_ms", "does not go together with opinions=true");
    }
    let wait = read_wait(&mut query);
    let wait = query.finish(Some(wait))?;
    if let Some(part) = part {
        return opinions::inspect(&queues, &pass.caller, &reader, &id, &part).await;
    }
    let who = reader::who(&pass);
    let seen = auth::while_valid(&pass, wait, waiting.batch(&id, wait, &who)).await?;
    let WaitedRead { what, turn } = seen.map_err(reader::read_problem)?;
    let batch = (*what).as_ref().ok_or_else(Problem::unknown_batch)?;
    Ok(counted::answer(turn, &shapes::BatchBody::new(batch)))
}

/// `DELETE /batches/{id}`
pub async fn cancel(
    State(queues): State<Queues>,
    InPath(id): InPath<BatchId>,
    caller: Caller,
    _: NoQuery,
) -> Result<Response, Problem> {
    let act = AuditEntry::on_batch("cancel", &id, &caller);
    match queues.cancel_batch(&id, &act.actor()).await? {
        BatchCancellation::Cancelled(batch) => {
            Ok(Audited(act.counted(1), shapes::BatchBody::new(&batch)).into_response())
        }
        BatchCancellation::UnknownBatch => Err(Problem::unknown_batch()),
        BatchCancellation::Over(state) => Err(Problem::wrong_batch_state(state)),
    }
}

/// `POST /batches/{id}/jobs`
pub async fn append(
    State(queues): State<Queues>,
    State(PayloadLimit(max_payload)): State<PayloadLimit>,
    InPath(id): InPath<BatchId>,
    _: NoQuery,
    Traceparent(traceparent): Traceparent,
    body: JsonBody,
) -> Result<Response, Problem> {
    let (jobs, offset) = long_work::run(body.0.len(), || read_append(body.fields()?, traceparent.as_ref()))?;
    check_sizes(&jobs, max_payload)?;
    match queues.append(&id, &jobs, offset).await? {
        Appended::Batch(batch) => Ok(answer(&batch)),
        Appended::UnknownBatch => Err(Problem::unknown_batch()),
        Appended::Misfit { total } => Err(Problem::offset_mismatch(total)),
        Appended::NotOpen(state) => Err(Problem::wrong_batch_state(state)),
        Appended::QueueFull => Err(Problem::queue_full()),
        Appended::Untimely(errors) => Err(Problem::untimely_members(&errors)),
        Appended::TooLong => {
            let detail = format!("a batch has at most {} jobs in all", limits::BATCH_TOTAL);
            Err(Problem::new(ProblemType::TooManyItems, detail))
        }
    }
}

/// `POST /batches/{id}/seal`
pub async fn seal(
    State(queues): State<Queues>,
    InPath(id): InPath<BatchId>,
    _: NoQuery,
    body: JsonBody,
) -> Result<Response, Problem> {
    body.fields_if_any()?.finish(Some(()))?;
    let batch = queues.seal(&id).await?.ok_or_else(Problem::unknown_batch)?;
    Ok(answer(&batch))
}

/// `GET /batches/{id}/results`: viewers do not see who gave which of several opinions.
pub async fn results(
    State(queues): State<Queues>,
    InPath(id): InPath<BatchId>,
    caller: Caller,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let after = query.take("after", rules::whole_text(0..=limits::BATCH_TOTAL));
    let limit = query.take("limit", rules::whole_text(1..=limits::RESULTS)).unwrap_or(DEFAULT_RESULTS);
    query.finish(Some(()))?;
    let from = after.map_or(0, |index| index + 1);
    let turn = reader.page_permit().await?;
    let page = queues.results(&id, from, limit).await.map_err(Problem::from_read)?;
    let mut page = page.ok_or_else(Problem::unknown_batch)?;
    if page.is_shared && !RequiredRole::Producer.allows(caller.role) {
        page.hide_workers();
    }
    Ok(counted::answer(turn, &shapes::ResultPageBody::new(&page)))
}

fn answer(batch: &store::Batch) -> Response {
    JsonResponse(shapes::BatchBody::new(batch)).into_response()
}

fn read_batch(mut fields: JsonFields<'_>, call: &JsonCall, max_payload: usize) -> Result<NewBatch, Problem> {
    let (repeat, trace) = (call.repeat.as_ref(), call.traceparent.as_ref());
    let queue = fields.take("queue", rules::parsed(QueueName::parse)).unwrap_or_default();
    let concurrency = fields.take("concurrency", rules::whole(1..=limits::COUNT));
    let priority = fields.take("priority", rules::priority).unwrap_or_default();
    let client = fields.take("client", rules::parsed(Name::parse));
    let sealed = fields.take("sealed", rules::flag).unwrap_or(true);
    if sealed && !fields.has("jobs") {
        fields.reject::<()>("jobs", "is required unless sealed is false");
    }
    let jobs = fields.objects("jobs", 0..=limits::BATCH_JOBS, |item| read_member(item, trace))?.unwrap_or_default();
    fields.finish(Some(()))?;
    let id = match repeat {
        Some(repeat) => repeat.batch(queue, None),
        None => store::random_batch(queue),
    };
    auth::queue(&call.caller, &id.queue)?;
    check_sizes(&jobs, max_payload)?;
    let fingerprint = repeat.map(IdempotentCall::fingerprint);
    Ok(NewBatch { id, concurrency, priority, client, sealed, jobs, fingerprint })
}

fn read_append(mut fields: JsonFields<'_>, trace: Option<&String>) -> Result<(Vec<NewMember>, Option<u32>), Problem> {
    let offset = fields.take("offset", rules::whole(0..=limits::BATCH_TOTAL));
    if !fields.has("jobs") {
        fields.reject::<()>("jobs", "is required");
    }
    let jobs = fields.objects("jobs", 1..=limits::APPEND_JOBS, |item| read_member(item, trace))?;
    Ok((fields.finish(jobs)?, offset))
}

fn read_member(item: &mut JsonFields<'_>, trace: Option<&String>) -> Option<NewMember> {
    let priority = item.take("priority", rules::priority);
    Some(NewMember { task: read_task(item, trace.cloned())?, priority })
}

fn check_sizes(jobs: &[NewMember], max: usize) -> Result<(), Problem> {
    let mut sizes = jobs.iter().enumerate();
    sizes.try_for_each(|(i, job)| check_size(&format!("jobs/{i}/payload"), &job.task.payload, max))
}
