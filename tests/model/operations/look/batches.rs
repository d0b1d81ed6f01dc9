//! Batches and their results.

use super::{super::prelude::*, pages};

pub async fn batch(walk: &Walk<'_>, id: &BatchId) -> Verdict {
    let batch = walk.real.handle.batch(id).await.map_err(broken)?;
    same_debug("a batch", &batch, &walk.model.batch_shown(id))
}

pub async fn batches(walk: &Walk<'_>, limit: u32) -> Verdict {
    let found = pages(async |after| {
        let page = walk.real.handle.batches(&walk.real.queue, after, limit).await?;
        Ok((page.batches, page.next))
    });
    let mut codes: Vec<_> = walk.model.batches.keys().copied().collect();
    codes.sort_by_key(|code| walk.model.batches[code].rank());
    let id = |code| BatchId { queue: walk.real.queue.clone(), code };
    let expected: Vec<_> = codes.into_iter().filter_map(|code| walk.model.batch_shown(&id(code))).collect();
    same_debug("the batches of the queue", &found.await?, &expected)
}

pub async fn results(walk: &Walk<'_>, id: &BatchId, limit: u32) -> Verdict {
    let (mut found, mut from) = (Vec::new(), Some(0));
    while let Some(index) = from {
        let page = walk.real.handle.results(id, index, limit).await.map_err(broken)?;
        let Some(page) = page else {
            return same("there are results", &false, &walk.model.batches.contains_key(&id.code));
        };
        let results = page.results.iter();
        found.extend(results.map(|r| (r.id.code, r.state, r.result.as_ref().map(|json| json.as_str().to_owned()))));
        from = page.next;
    }
    let Some(batch) = walk.model.batches.get(&id.code) else { return Err("there should be no results".to_owned()) };
    let result = |code: &Code| (*code, walk.model.jobs[code].state, walk.model.jobs[code].result.map(str::to_owned));
    same("the results of a batch", &found, &batch.members.iter().map(result).collect())
}
