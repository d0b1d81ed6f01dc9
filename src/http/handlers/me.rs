//! The caller's own role and limits, and the queues that they may work in. A page reads this before it offers actions.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use crate::{
    access::Caller,
    http::{
        middleware::auth,
        request::{
            query::{NoQuery, Query},
            reader::ReadCall,
        },
        response::{counted, json::JsonResponse, problem::Problem, shapes},
    },
    job::{Name, QueueName, limits},
    store::Queues,
};

/// `GET /me`
pub async fn me(caller: Caller, _: NoQuery) -> Response {
    JsonResponse(shapes::MeBody::new(&caller)).into_response()
}

/// `GET /me/queues`
pub async fn queues(
    caller: Caller,
    reader: ReadCall,
    State(queues): State<Queues>,
    mut query: Query,
) -> Result<Response, Problem> {
    let named = query.take("worker", Name::of_worker);
    query.finish(Some(()))?;
    if caller.job.is_some() {
        return Err(Problem::forbidden(auth::FOR_ONE_JOB));
    }
    auth::worker(&caller, named.as_ref())?;
    let worker = named.as_ref().or(caller.worker.as_ref());
    let sees = |queue: &QueueName| caller.may_see(queue);
    let turn = reader.page_permit().await?;
    let listed = queues.personal_queues(worker, &caller.skills(None), limits::PERSONAL_QUEUES, sees).await;
    Ok(counted::answer(turn, &shapes::PersonalQueuesBody { queues: listed.map_err(Problem::from_read)? }))
}
