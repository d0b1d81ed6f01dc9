//! Webhooks and their deliveries. A webhook that is for no queue of the caller does not exist for it.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};

use crate::{
    access::Caller,
    http::{
        middleware::{
            audit::{AuditEntry, Audited},
            auth,
        },
        request::{
            body::JsonBody,
            fields::JsonFields,
            query::{NoQuery, Query, read_page},
            reader::ReadCall,
            rules,
        },
        response::{counted, json::JsonResponse, problem::Problem, shapes},
    },
    job::{DeliveryState, Invalid, QueueName},
    store::{Cursor, DeliveryId, Queues},
    webhooks::{Dispatcher, Webhook},
};

const WEBHOOK_ID: Invalid = Invalid("must be the `webhook_id` of a delivery: msg_ and 26 characters");
const DELIVERY_STATE: Invalid = Invalid("must be waiting or failed");

/// `GET /webhooks`
pub async fn webhooks(
    State(dispatcher): State<Dispatcher>,
    caller: Caller,
    reader: ReadCall,
    _: NoQuery,
) -> Result<Response, Problem> {
    let turn = reader.page_permit().await?;
    let mut webhooks = dispatcher.all();
    webhooks.retain(|webhook| caller.overlaps(&webhook.pattern));
    let states = dispatcher.states(&webhooks, |queue| caller.may_see(queue)).await.map_err(Problem::from_read)?;
    Ok(counted::answer(turn, &shapes::WebhookListBody::new(&webhooks, &states)))
}

/// `GET /webhooks/{name}/deliveries`
pub async fn deliveries(
    State(queues): State<Queues>,
    State(dispatcher): State<Dispatcher>,
    Path(name): Path<String>,
    caller: Caller,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let webhook = visible(&dispatcher, &name, &caller)?;
    let queue = query.require("queue", QueueName::parse);
    let state = query.take("state", |text| DeliveryState::parse(text).ok_or(DELIVERY_STATE));
    let (after, limit) = read_page(&mut query, Cursor::of_jobs);
    let queue = query.finish(queue)?;
    auth::queue(&caller, &queue)?;
    let turn = reader.page_permit().await?;
    let state = state.unwrap_or(DeliveryState::Waiting);
    let page = queues.deliveries(&queue, &webhook.name, state, after.as_ref(), limit);
    let page = page.await.map_err(Problem::from_read)?;
    Ok(counted::answer(turn, &shapes::DeliveryPageBody::new(&page, state)))
}

/// `POST /webhooks/{name}/redeliver`
pub async fn redeliver(
    State(dispatcher): State<Dispatcher>,
    Path(name): Path<String>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Audited<shapes::RedeliveredBody>, Problem> {
    let webhook = visible(&dispatcher, &name, &caller)?;
    let (queue, id) = read_deliveries(body.fields()?)?;
    auth::queue(&caller, &queue)?;
    let mut parameters = body.parameters(&["queue"]);
    parameters.insert("webhook".to_owned(), webhook.name.as_str().into());
    let act = AuditEntry::new("redeliver", &queue, &caller).with(parameters);
    let redelivered = dispatcher.redeliver(&act.actor(), &queue, &webhook.name, id.as_ref()).await?;
    Ok(Audited(act.counted(redelivered), shapes::RedeliveredBody { redelivered }))
}

/// `POST /webhooks/{name}/test`
pub async fn test(
    State(dispatcher): State<Dispatcher>,
    Path(name): Path<String>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<JsonResponse<shapes::WebhookTestedBody>, Problem> {
    let webhook = visible(&dispatcher, &name, &caller)?;
    body.fields_if_any()?.finish(Some(()))?;
    if !caller.covers(&webhook.pattern) {
        return Err(Problem::forbidden("a test needs a key for all queues of the webhook"));
    }
    match dispatcher.test(&webhook).await {
        Ok(attempt) => Ok(JsonResponse(shapes::WebhookTestedBody::new(&attempt))),
        Err(left) => Err(Problem::rate_limited(u32::try_from(left.as_millis()).unwrap_or_default().max(1))),
    }
}

fn visible(dispatcher: &Dispatcher, name: &str, caller: &Caller) -> Result<Arc<Webhook>, Problem> {
    dispatcher.find(name).filter(|webhook| caller.overlaps(&webhook.pattern)).ok_or_else(Problem::unknown_webhook)
}

fn read_deliveries(mut fields: JsonFields<'_>) -> Result<(QueueName, Option<DeliveryId>), Problem> {
    let queue = fields.require("queue", rules::parsed(QueueName::parse));
    let id = fields.take("webhook_id", rules::parsed(|text| DeliveryId::parse(text).ok_or(WEBHOOK_ID)));
    fields.finish(queue.map(|queue| (queue, id)))
}
