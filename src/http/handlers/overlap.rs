//! Batches with an overlap: equal jobs, of which each worker is given one at most.

use std::collections::BTreeSet;

use axum::response::Response;

use super::{
    made_queues::MadeQueues,
    new_batch::created_overlap,
    task::{IdempotentCall, JsonCall, read_task},
};
use crate::{
    http::{
        middleware::auth,
        request::{
            fields::JsonFields,
            items::Items,
            long_work,
            rules::{self, check_size},
        },
        response::{problem::Problem, shapes},
    },
    job::{Name, QueueName, limits},
    store::{self, Batch, NewBatch, NewMember, Queues, Routing, Task},
};

/// Why other fields of a batch or a job are refused.
const NOT_TOGETHER: &str = "does not go together with overlap";

/// A batch with an overlap.
pub async fn create_overlap(
    queues: &Queues,
    call: &JsonCall,
    fields: JsonFields<'_>,
    max_payload: usize,
) -> Result<(Batch, bool), Problem> {
    let new = read_overlap(fields, call, None, &mut BTreeSet::new(), max_payload)?;
    if let Some(repeat) = &call.repeat {
        repeat.guard_batches(queues, &[new.id.queue.clone()].into()).await?;
    }
    let (queue, made) =
        (new.id.queue.clone(), MadeQueues::find(queues, call.creates, [&new.id.queue].into_iter()).await);
    created_overlap(made.put(&queue, queues.create_batch(repeated(new))).await?)
}

/// Creates the batches of an array, each stored or refused by itself.
pub async fn create_each(
    queues: &Queues,
    call: &JsonCall,
    text: &str,
    max_payload: usize,
) -> Result<Response, Problem> {
    let (mut index, mut named) = (0, BTreeSet::new());
    let read = |item| {
        let at = index;
        index += 1;
        Ok(((), read_overlap(JsonFields::of(item)?, call, Some(at), &mut named, max_payload)?))
    };
    let items = long_work::run(text.len(), || Ok::<_, Problem>(Items::of(text, limits::OVERLAP_BATCHES)?.read(read)))?;
    if let Some(repeat) = &call.repeat {
        repeat.guard_batches(queues, &named).await?;
    }
    // Batches of one array stand in line in its order.
    let made = MadeQueues::find(queues, call.creates, items.calls().map(|new| &new.id.queue)).await;
    let create = async |new: NewBatch| {
        let queue = new.id.queue.clone();
        made.put(&queue, queues.create_batch(repeated(new))).await
    };
    let answers = items.in_turn(create, |(), outcome| created_overlap(outcome)).await;
    answers.batches_response(|(batch, is_known)| shapes::CreatedBatchBody::new(batch, *is_known))
}

/// The batch with all of its equal jobs. Their payloads are copied only when it is its turn.
fn repeated(mut new: NewBatch) -> NewBatch {
    let overlap = new.jobs.first().and_then(|job| job.task.routing.as_ref()).map_or(0, |routing| routing.overlap);
    new.jobs = new.jobs.into_iter().flat_map(|job| vec![job; overlap.into()]).collect();
    new
}

/// A batch with one of its equal jobs. `index`: its place in an array. `named` is given its queue, also if it is invalid.
fn read_overlap(
    mut fields: JsonFields<'_>,
    call: &JsonCall,
    index: Option<usize>,
    named: &mut BTreeSet<QueueName>,
    max_payload: usize,
) -> Result<NewBatch, Problem> {
    let queue = fields.take("queue", rules::parsed(QueueName::parse)).unwrap_or_default();
    named.insert(queue.clone());
    let id = match &call.repeat {
        Some(repeat) => repeat.batch(queue, index),
        None => store::random_batch(queue),
    };
    let overlap = fields.require("overlap", rules::whole(limits::OVERLAP));
    let priority = fields.take("priority", rules::priority).unwrap_or_default();
    let client = fields.take("client", rules::parsed(Name::parse));
    for other in ["concurrency", "jobs", "sealed"] {
        fields.take(other, |_| Err::<(), _>(NOT_TOGETHER.into()));
    }
    if !fields.has("job") {
        fields.reject::<()>("job", "is required together with overlap");
    }
    let task = fields.object("job", |item| read_job(item, call.traceparent.clone(), overlap));
    let (overlap, mut task) = fields.finish(overlap.zip(task))?;
    task.routing.get_or_insert_default().overlap = overlap as u8;
    auth::queue(&call.caller, &id.queue)?;
    check_size("job/payload", &task.payload, max_payload)?;
    let fingerprint = call.repeat.as_ref().map(IdempotentCall::fingerprint);
    let jobs = vec![NewMember { task, priority: None }];
    Ok(NewBatch { id, concurrency: None, priority, client, sealed: true, jobs, fingerprint })
}

fn read_job(item: &mut JsonFields<'_>, traceparent: Option<String>, overlap: Option<u32>) -> Option<Task> {
    item.take("locks", |_| Err::<(), _>(NOT_TOGETHER.into()));
    let task = read_task(item, traceparent)?;
    let routing = task.routing.as_deref().filter(|routing| !routing.assignees.is_empty());
    let is_excluded = |routing: &Routing, name: &Name| routing.excluded.contains(name);
    let workers = routing.map(|own| own.assignees.iter().filter(|name| !is_excluded(own, name)).count());
    if workers.is_some_and(|workers| workers < overlap.unwrap_or(0) as usize) {
        item.reject::<()>(
            "assignees",
            "must name at least as many who are not excluded as the overlap, one for each job",
        );
    }
    Some(task)
}
