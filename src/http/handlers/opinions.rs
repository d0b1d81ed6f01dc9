//! Batches with what was asked and answered in them: `opinions=true` of the calls that read batches.

use axum::response::Response;

use crate::{
    access::{Caller, RequiredRole},
    http::{
        request::{
            query::{Query, read_page},
            reader::ReadCall,
            rules,
        },
        response::{counted, field_error::Rule, problem::Problem, shapes},
    },
    job::{Agreement, BatchId, QueueName, limits},
    payload::{pointers, votes::VotedPart},
    store::{Cursor, OpinionFilter, Opinions, Queues},
};

/// What of each result is compared, if the call asks for opinions.
pub fn read_part(query: &mut Query) -> Option<VotedPart> {
    let has_filter = query.has("agreement");
    let is_asked = query.take("opinions", rules::flag_text).unwrap_or(has_filter);
    if has_filter && !is_asked {
        query.reject("agreement", "does not go together with opinions=false");
    }
    let part = query.take("at", read_pointer);
    if part.is_some() && !is_asked {
        query.reject("at", "is for opinions=true");
    }
    is_asked.then(|| part.unwrap_or_default())
}

/// Which batches are listed, if the call asks for opinions.
pub fn read_filter(query: &mut Query) -> Option<OpinionFilter> {
    let part = read_part(query);
    let words = || Agreement::ALL.map(Agreement::word).join(", ");
    let agreement =
        query.take("agreement", |word| Agreement::parse(word).ok_or_else(|| format!("must be one of {}", words())));
    let (after, limit) = part.as_ref().map(|_| read_page(query, Cursor::of_batches))?;
    Some(OpinionFilter { part: part?, agreement, after, limit })
}

fn read_pointer(text: &str) -> Result<VotedPart, Rule> {
    let rest = text.strip_prefix('/');
    let steps = if text.is_empty() { Some(Vec::new()) } else { rest.and_then(pointers::steps) };
    let steps = steps.ok_or("must be a JSON pointer, like /verdict")?;
    if steps.len() > limits::COLUMN_STEPS {
        return Err(format!("must be a JSON pointer of at most {} steps", limits::COLUMN_STEPS).into());
    }
    Ok(VotedPart::new(steps))
}

/// The page.
pub async fn list(
    queues: &Queues,
    caller: &Caller,
    reader: &ReadCall,
    queue: &QueueName,
    filter: OpinionFilter,
) -> Result<Response, Problem> {
    let turn = reader.page_permit().await?;
    let mut page = queues.judged_batches(queue, filter).await.map_err(Problem::from_read)?;
    page.batches.iter_mut().for_each(|judged| hide_from(caller, judged.opinions.as_mut()));
    let batches = page.batches.iter().map(shapes::JudgedBatchBody::new).collect();
    Ok(counted::answer(turn, &shapes::JudgedPageBody { batches, next: page.next.as_ref() }))
}

/// One batch.
pub async fn inspect(
    queues: &Queues,
    caller: &Caller,
    reader: &ReadCall,
    id: &BatchId,
    part: &VotedPart,
) -> Result<Response, Problem> {
    let turn = reader.page_permit().await?;
    let judged = queues.judged_batch(id, part).await.map_err(Problem::from_read)?;
    let mut judged = judged.ok_or_else(Problem::unknown_batch)?;
    hide_from(caller, judged.opinions.as_mut());
    Ok(counted::answer(turn, &shapes::JudgedBatchBody::new(&judged)))
}

/// Viewers do not see who gave which of several opinions.
fn hide_from(caller: &Caller, opinions: Option<&mut Opinions>) {
    if !RequiredRole::Producer.allows(caller.role) {
        opinions.into_iter().for_each(Opinions::hide_workers);
    }
}
