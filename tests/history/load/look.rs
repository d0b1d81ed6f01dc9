//! Reads the final state of everything.

use std::collections::HashSet;

use futures_util::StreamExt;
use serde_json::{Map, Value};

use super::{Caller, feeder, queues};
use crate::record::{End, Entry, ReportedItem};

const STATES: [&str; 7] = ["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"];

pub async fn at_the_end(caller: &mut Caller) {
    queues::keep_all(caller).await;
    for queue in queues::ALL {
        let end = look(caller, queue).await;
        caller.shared.record.add(Entry::End(end));
    }
}

async fn look(caller: &mut Caller, queue: &str) -> End {
    let stats = caller.see(&format!("/queues/{queue}")).await;
    let numbers = |key: &str| stats[key].as_object().unwrap_or(&Map::new()).iter().filter_map(number).collect();
    let (counts, totals) = (numbers("counts"), numbers("totals"));
    let (mut jobs, mut feed) = (Vec::new(), Vec::new());
    for state in STATES {
        for page in pages(caller, &format!("/queues/{queue}/jobs?state={state}&limit=100")).await {
            jobs.extend(page["jobs"].as_array().into_iter().flatten().map(ReportedItem::read));
            if state == "completed" {
                feed.extend(feeder::ids(&page));
            }
        }
    }
    let pages = pages(caller, &format!("/batches?queue={queue}&limit=100")).await;
    let batches: Vec<_> =
        pages.iter().flat_map(|page| page["batches"].as_array()).flatten().map(ReportedItem::read).collect();
    let seen: HashSet<_> = jobs.iter().map(|job: &ReportedItem| job.id.clone()).collect();
    for batch in &batches {
        jobs.extend(members(caller, &batch.id, &seen).await);
    }
    End { queue: queue.to_owned(), counts, totals, jobs, feed, batches }
}

fn number((key, value): (&String, &Value)) -> Option<(String, u64)> {
    Some((key.clone(), value.as_u64()?))
}

async fn pages(caller: &mut Caller, path: &str) -> Vec<Value> {
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let page = caller.see(&format!("{path}{after}")).await;
        let next = page["next"].as_str().map(|next| format!("&after={next}"));
        pages.push(page);
        match next {
            Some(next) => after = next,
            None => return pages,
        }
    }
}

/// Jobs of a batch that no list has.
async fn members(caller: &mut Caller, batch: &str, seen: &HashSet<String>) -> Vec<ReportedItem> {
    let pages = pages(caller, &format!("/batches/{batch}/results?limit=1000")).await;
    let ids = pages.iter().flat_map(|page| page["results"].as_array()).flatten().filter_map(|one| one["id"].as_str());
    let unseen: Vec<_> = ids.filter(|id| !seen.contains(*id)).map(str::to_owned).collect();
    let (shared, chance) = (caller.shared.clone(), &mut caller.chance);
    let askers = unseen.into_iter().map(|id| (Caller::new(&shared, chance.fork()), id)).collect::<Vec<_>>();
    let looks = askers.into_iter().map(|(mut caller, id)| async move {
        let seen = caller.see(&format!("/jobs/{id}")).await;
        ReportedItem::read(&seen)
    });
    futures_util::stream::iter(looks).buffered(16).collect().await
}
