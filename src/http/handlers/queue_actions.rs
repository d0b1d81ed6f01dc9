//! Actions of operators on a queue: release, configure, sweep.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use intray_form::{Form, FormError, Owner};
use serde_json::value::RawValue;

use crate::{
    access::Caller,
    http::{
        handlers::{queues, task::backoff},
        middleware::{
            audit::{AuditEntry, Audited},
            auth,
        },
        request::{
            body::JsonBody,
            fields::JsonFields,
            path::{InPath, NewQueue},
            query::{NoQuery, Query},
            rules,
        },
        response::{field_error::Rule, json::JsonResponse, problem::Problem, shapes},
    },
    job::{JobId, Name, QueueName, ZoneName, limits},
    sheets::Sheets,
    store::{Configured, Queues, Release, Released, SettingsPatch, Swept},
};

/// `POST /jobs/release`
pub async fn release(
    State(queues): State<Queues>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Audited<Released>, Problem> {
    let target = read_holder(body.fields()?)?;
    let act = match &target {
        Release::Job(id) => {
            auth::job(&caller, id)?;
            AuditEntry::on_job("release", id, &caller)
        }
        Release::Worker(queue, worker) => {
            auth::queue(&caller, queue)?;
            AuditEntry::on_worker("release", queue, worker, &caller).with(body.parameters(&["queue"]))
        }
    };
    let done = queues.release(&target, &act.actor()).await?;
    let done = done.ok_or_else(Problem::unknown_job)?;
    Ok(Audited(act.counted(done.released), done))
}

/// `PATCH /queues/{queue}`
pub async fn configure(
    State(queues): State<Queues>,
    State(sheets): State<Sheets>,
    InPath(NewQueue(name)): InPath<NewQueue>,
    caller: Caller,
    mut query: Query,
    body: JsonBody,
) -> Result<Response, Problem> {
    let makes = query.take("create", rules::flag_text).unwrap_or(true);
    query.finish(Some(()))?;
    let (patch, act) = (read_settings(body.fields()?)?, AuditEntry::new("configure", &name, &caller));
    if patch.time_zone.is_some() {
        // What has happened so far counts to the days of the old zone.
        sheets.open(&name).await?;
    }
    let (info, created) = match queues.set(&name, patch, makes, &act.actor()).await? {
        Configured::Done { info, created } => (*info, created),
        Configured::Unknown => return Err(Problem::unknown_queue()),
        Configured::TooManyQueues => return Err(Problem::too_many_queues()),
    };
    let mut answer = Audited(act.counted(1), shapes::ConfiguredBody { info, created }).into_response();
    if created {
        *answer.status_mut() = StatusCode::CREATED;
    }
    Ok(answer)
}

/// `POST /queues/{queue}/sweep`
pub async fn sweep(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    _: NoQuery,
    body: JsonBody,
) -> Result<JsonResponse<Swept>, Problem> {
    body.fields_if_any()?.finish(Some(()))?;
    queues::require_queue(&queues, &queue).await?;
    let swept = queues.sweep(&queue).await?;
    queues.record(&queue).await?;
    if queues.with_erasures().contains(&queue) {
        queues.expunge(&queue).await?;
    }
    Ok(JsonResponse(swept))
}

fn read_holder(mut fields: JsonFields<'_>) -> Result<Release, Problem> {
    if fields.has("id") {
        let id = fields.take("id", rules::parsed(JobId::parse));
        return fields.finish(id.map(Release::Job));
    }
    if !fields.has("queue") && !fields.has("worker") {
        let target = fields.reject("id", "is required, or queue and worker");
        return fields.finish(target);
    }
    let queue = fields.require("queue", rules::parsed(QueueName::parse));
    let worker = fields.require("worker", rules::parsed(Name::of_worker));
    fields.finish(queue.zip(worker).map(|(queue, worker)| Release::Worker(queue, worker)))
}

fn read_settings(mut fields: JsonFields<'_>) -> Result<SettingsPatch, Problem> {
    let counted = 0..=limits::COUNT;
    let patch = SettingsPatch {
        paused: set(&mut fields, "paused", rules::flag),
        lease_ms: set(&mut fields, "lease_ms", rules::whole(limits::LEASE_MS)),
        max_hold_ms: set(&mut fields, "max_hold_ms", rules::whole(0..=limits::DELAY_MS)),
        warn_ms: set(&mut fields, "warn_ms", rules::whole(0..=*limits::LEASE_MS.end())),
        max_attempts: set(&mut fields, "max_attempts", rules::whole(counted.clone())),
        backoff: match fields.null("backoff") {
            true => Some(None),
            false => fields.object("backoff", backoff).map(Some),
        },
        dedupe: set(&mut fields, "dedupe", rules::flag),
        share_drafts: set(&mut fields, "share_drafts", rules::flag),
        browse: set(&mut fields, "browse", rules::flag),
        worker_limit: set(&mut fields, "worker_limit", rules::whole(0..=limits::WORKER_LIMIT)),
        retention_ms: set(&mut fields, "retention_ms", rules::whole(limits::RETENTION_MS)),
        retention_max: set(&mut fields, "retention_max", rules::whole(counted.clone())),
        max_jobs: set(&mut fields, "max_jobs", rules::whole(counted)),
        sheets: set(&mut fields, "sheets", rules::flag),
        sheets_days: set(&mut fields, "sheets_days", rules::whole(limits::SHEETS_DAYS)),
        time_zone: set(&mut fields, "time_zone", rules::parsed(ZoneName::parse)),
        result_schema: match fields.null("result_schema") {
            true => Some(None),
            false => read_form(&mut fields).map(Some),
        },
    };
    fields.finish(Some(patch))
}

/// The text of a form. What is wrong with it is named at its place.
fn read_form(fields: &mut JsonFields<'_>) -> Option<String> {
    const KEY: &str = "result_schema";
    let text = fields.take(KEY, |raw| Ok(raw.get()))?;
    match Form::parse(text, Owner::Queue) {
        Ok(_) => Some(text.to_owned()),
        Err(FormError(faults)) => {
            for fault in faults {
                fields.reject::<()>(&[KEY, &fault.pointer].concat(), fault.detail);
            }
            None
        }
    }
}

/// A missing field keeps the setting; `null` resets it to the default.
fn set<T>(
    fields: &mut JsonFields<'_>,
    key: &str,
    rule: impl FnOnce(&RawValue) -> Result<T, Rule>,
) -> Option<Option<T>> {
    if fields.null(key) { Some(None) } else { fields.take(key, rule).map(Some) }
}
