//! A producer that reads the feed of results and follows its cursor through all faults.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::Value;

use super::Caller;
use crate::record::Entry;

pub async fn read(mut caller: Caller, queue: String, stop: Arc<AtomicBool>) {
    let (mut after, mut seen) = (String::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let path = format!("/queues/{queue}/jobs?state=completed&limit=50&wait_ms=300{after}");
        if let Some(page) = caller.look(&path).await {
            let ids = ids(&page);
            // Without a next page, this page is read again, and grows.
            let new = ids.get(seen..).unwrap_or(&ids).to_vec();
            if !new.is_empty() {
                caller.shared.record.add(Entry::Feed { queue: queue.clone(), ids: new });
            }
            seen = ids.len();
            if let Some(next) = page["next"].as_str() {
                (after, seen) = (format!("&after={next}"), 0);
            }
        }
        caller.chance.rest(300).await;
    }
}

pub fn ids(page: &Value) -> Vec<String> {
    let jobs = page["jobs"].as_array().into_iter().flatten();
    jobs.filter_map(|job| job["id"].as_str()).map(str::to_owned).collect()
}
