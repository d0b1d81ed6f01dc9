//! Actions of operators on many jobs; each call changes a bounded part of the selection.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use crate::{
    access::Caller,
    http::{
        handlers::{
            queues::{require_queue, states},
            recent_workers::{GivenNames, RecentCall},
            routing::read_successors,
            selection::read_selection,
        },
        middleware::{
            audit::{AuditEntry, Audited},
            auth,
        },
        request::{
            body::JsonBody,
            fields::JsonFields,
            path::InPath,
            query::{NoQuery, Query},
            rules,
        },
        response::{problem::Problem, shapes},
    },
    job::{Invalid, JobId, Name, QueueName, State as JobState},
    store::{
        KeptFor, Progress, Purge, Purged, QueueRemoval, Queues, Reassign, Reassigned, ReprioritizeAll,
        ReprioritizedAll, Requeue, Requeued,
    },
    webhooks::Dispatcher,
};

/// `POST /jobs/requeue`
pub async fn requeue(
    State(queues): State<Queues>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Audited<shapes::RequeuedBody>, Problem> {
    let target = read_ended(body.fields()?)?;
    let act = match &target {
        Requeue::Job(id) => {
            auth::job(&caller, id)?;
            AuditEntry::on_job("requeue", id, &caller)
        }
        Requeue::Queue(queue, ..) => {
            auth::queue(&caller, queue)?;
            AuditEntry::new("requeue", queue, &caller).with(body.parameters(&["queue", "after"]))
        }
    };
    match queues.requeue(target, &act.actor()).await? {
        Requeued::Count { requeued, next } => {
            let more = next.is_some();
            Ok(Audited(act.counted(requeued), shapes::RequeuedBody { requeued, more, next }))
        }
        Requeued::UnknownJob => Err(Problem::unknown_job()),
        Requeued::WrongState(state) => Err(Problem::wrong_state(state)),
    }
}

/// `POST /jobs/reprioritize`
pub async fn reprioritize(
    State(queues): State<Queues>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Audited<shapes::ReprioritizedAllBody>, Problem> {
    let what = read_unended(body.fields()?)?;
    auth::queue(&caller, &what.queue)?;
    require_queue(&queues, &what.queue).await?;
    let act = AuditEntry::new("reprioritize", &what.queue, &caller).with(body.parameters(&["queue", "after"]));
    let ReprioritizedAll { changed, next } = queues.reprioritize_all(what, &act.actor()).await?;
    let more = next.is_some();
    Ok(Audited(act.counted(changed), shapes::ReprioritizedAllBody { changed, more, next }))
}

/// `POST /jobs/reassign`
pub async fn reassign(
    State(queues): State<Queues>,
    caller: Caller,
    recent: RecentCall,
    _: NoQuery,
    body: JsonBody,
) -> Result<Audited<shapes::ReassignedBody>, Problem> {
    let call = read_reassign(body.fields()?)?;
    auth::queue(&caller, &call.queue)?;
    require_queue(&queues, &call.queue).await?;
    let act = AuditEntry::on_worker("reassign", &call.queue, &call.from, &caller);
    let act = act.with(body.parameters(&["queue", "after"]));
    // The first call of several says it for all.
    let given = call.to.iter().flatten().filter(|_| call.after.is_none());
    let unseen = recent.unseen(&call.queue, &GivenNames::new(given, None)).await;
    let Reassigned { changed, refused, next } = queues.reassign(call, &act.actor()).await?;
    let answer = shapes::ReassignedBody { changed, refused, unseen, more: next.is_some(), next };
    Ok(Audited(act.counted(changed), answer))
}

/// `DELETE /queues/{queue}`
pub async fn remove(
    State(queues): State<Queues>,
    State(dispatcher): State<Dispatcher>,
    InPath(queue): InPath<QueueName>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, Problem> {
    if query.take("forget", rules::flag_text).unwrap_or(false) {
        return Ok(forget(&queues, &dispatcher, &queue, &caller, query).await?.into_response());
    }
    Ok(purge(&queues, queue, &caller, query).await?.into_response())
}

/// Removes the queue itself, which has no jobs.
async fn forget(
    queues: &Queues,
    dispatcher: &Dispatcher,
    queue: &QueueName,
    caller: &Caller,
    mut query: Query,
) -> Result<Audited<shapes::ForgottenQueueBody>, Problem> {
    for name in ["state", "force", "client", "batch", "error", "enqueued_before", "after"] {
        if !query.all(name).is_empty() {
            query.reject(name, "is not for forget=true, which removes no jobs");
        }
    }
    query.finish(Some(()))?;
    if !dispatcher.catch_up(queue).await? {
        require_queue(queues, queue).await?;
        return Err(Problem::queue_not_empty(KeptFor::Deliveries));
    }
    match queues.forget(queue).await? {
        QueueRemoval::Done => {
            let act = AuditEntry::new("forget", queue, caller).counted(1);
            Ok(Audited(act, shapes::ForgottenQueueBody { forgotten: true }))
        }
        QueueRemoval::Unknown => Err(Problem::unknown_queue()),
        QueueRemoval::Kept(why) => Err(Problem::queue_not_empty(why)),
    }
}

async fn purge(
    queues: &Queues,
    queue: QueueName,
    caller: &Caller,
    mut query: Query,
) -> Result<Audited<shapes::PurgedBody>, Problem> {
    let parameters = query.parameters(&["after"]);
    let (state, force) = read_purge(&mut query);
    let selection = read_selection(&mut query, &queue);
    let after = query.take("after", Progress::of_state);
    let state = query.finish(state)?;
    require_queue(queues, &queue).await?;
    let act = AuditEntry::new("purge", &queue, caller).with(parameters);
    let purge = Purge { queue, state, force, selection, after, actor: act.actor() };
    let Purged { removed, next } = queues.purge(purge).await?;
    let more = next.is_some();
    Ok(Audited(act.counted(removed), shapes::PurgedBody { removed, more, next }))
}

fn read_ended(mut fields: JsonFields<'_>) -> Result<Requeue, Problem> {
    if fields.has("id") {
        let id = fields.take("id", rules::parsed(JobId::parse));
        return fields.finish(id.map(Requeue::Job));
    }
    if !fields.has("queue") {
        let target = fields.reject("id", "is required, or queue");
        return fields.finish(target);
    }
    let queue = fields.take("queue", rules::parsed(QueueName::parse));
    let selection = queue.as_ref().map(|queue| read_selection(&mut fields, queue));
    let after = fields.take("after", rules::parsed(Progress::of_requeue));
    fields.finish(queue.zip(selection).map(|(queue, selection)| Requeue::Queue(queue, selection, after)))
}

fn read_unended(mut fields: JsonFields<'_>) -> Result<ReprioritizeAll, Problem> {
    let queue = fields.require("queue", rules::parsed(QueueName::parse));
    let priority = fields.require("priority", rules::priority);
    let state = fields.take("state", rules::parsed(unended)).unwrap_or(JobState::Waiting);
    let selection = queue.as_ref().map(|queue| read_selection(&mut fields, queue)).unwrap_or_default();
    let after = fields.take("after", rules::parsed(Progress::of_state));
    let what = queue.zip(priority);
    fields.finish(what.map(|(queue, priority)| ReprioritizeAll { queue, state, priority, selection, after }))
}

fn read_reassign(mut fields: JsonFields<'_>) -> Result<Reassign, Problem> {
    let queue = fields.require("queue", rules::parsed(QueueName::parse));
    let from = fields.require("from", rules::parsed(Name::of_worker));
    let to = read_successors(&mut fields);
    let same = to.iter().flatten().flatten().position(|name| Some(name) == from.as_ref());
    if let Some(place) = same {
        fields.reject::<()>(&format!("to/{place}"), "must be another worker than from");
    }
    let Some((queue, from)) = queue.zip(from) else {
        fields.take("after", rules::text);
        return fields.finish(None);
    };
    let after = fields.take("after", rules::parsed(|text| Progress::of_reassign(text, &queue, &from)));
    fields.finish(to.map(|to| Reassign { queue, from, to, after }))
}

/// The states in which a priority matters.
fn unended(word: &str) -> Result<JobState, Invalid> {
    let state = JobState::parse(word).filter(|state| match state {
        JobState::Waiting | JobState::Blocked | JobState::Delayed | JobState::Reserved => true,
        JobState::Completed | JobState::Dead | JobState::Cancelled => false,
    });
    state.ok_or(Invalid("must be waiting, blocked, delayed or reserved"))
}

/// `Some(None)` stands for all states.
fn read_purge(query: &mut Query) -> (Option<Option<JobState>>, bool) {
    let state = query.require("state", |word| match word {
        "all" => Ok(None),
        word => JobState::parse(word).map(Some).ok_or_else(|| format!("must be all, {}", states())),
    });
    let force = query.take("force", rules::flag_text).unwrap_or(false);
    if state == Some(Some(JobState::Reserved)) && !force {
        query.reject("force", "must be true to take jobs from their holders");
    }
    (state, force)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn wrong_reassignments_are_named_by_their_pointers() {
        let pointers = |body: Value| {
            let text = body.to_string();
            let read = read_reassign(JsonFields::of(&text).expect("an object"));
            let problem = serde_json::to_value(read.expect_err("a mistake")).expect("JSON");
            let errors = problem["errors"].as_array().expect("errors").iter();
            errors.map(|error| error["pointer"].as_str().expect("a pointer").to_owned()).collect::<Vec<_>>()
        };
        for (body, wrong) in [
            (json!({}), vec!["/queue", "/from", "/to"]),
            (json!({ "queue": "q", "from": "bob", "to": [] }), vec!["/to"]),
            (json!({ "queue": "q", "from": "bob", "to": ["cleo", "bob"] }), vec!["/to/1"]),
            (json!({ "queue": "q", "from": "bob", "to": null, "after": "77616974696e6720" }), vec!["/after"]),
            (json!({ "queue": "q", "from": "bob ", "to": ["cleo"], "after": "00" }), vec!["/from"]),
        ] {
            assert_eq!(pointers(body.clone()), wrong, "{body}");
        }
        let text = json!({ "queue": "q", "from": "bob", "to": null }).to_string();
        let read = read_reassign(JsonFields::of(&text).expect("an object"));
        assert!(read.is_ok_and(|call| call.to.is_none() && call.after.is_none()));
    }
}
