//! The origin of jobs.

use std::collections::HashMap;

use super::index::{Index, Outcome};
use crate::record::queue_of;

/// Each job that appeared was enqueued, in that queue and with that payload; and there are no more unseen jobs than
/// calls with lost answers could have made.
pub fn nothing_invented(index: &Index) -> Vec<String> {
    let mut found = index.changed.clone();
    let mut nameless: HashMap<&str, usize> = HashMap::new();
    for (id, trace) in &index.jobs {
        match (trace.n, trace.events.is_empty()) {
            (Some(n), _) => {
                let is_sent = |queue: &str| queue == queue_of(id);
                let tries = index.tries.get(&n);
                if !tries
                    .is_some_and(|tries| tries.iter().any(|one| is_sent(&one.job.queue) && !one.outcome.is_refused()))
                {
                    found.push(format!("{id} holds {n}, which no producer sent"));
                }
            }
            (None, false) => *nameless.entry(queue_of(id)).or_default() += 1,
            (None, true) => {}
        }
    }
    let named: std::collections::HashSet<u64> = index.jobs.values().filter_map(|trace| trace.n).collect();
    let mut open: HashMap<&str, usize> = HashMap::new();
    for one in index.tries.values().flatten() {
        // Jobs of a batch have ids derived from the batch, and its answer lists none.
        let may_be = matches!(one.outcome, Outcome::Unknown) || !one.is_alone;
        // Some of the equal jobs of a batch may have been seen.
        let copies = one.job.overlap.map_or(1, |copies| copies as usize);
        if may_be && (copies > 1 || !named.contains(&one.job.n)) {
            *open.entry(one.job.queue.as_str()).or_default() += copies;
        }
    }
    let max = |queue: &str| open.get(queue).copied().unwrap_or(0);
    let too_many = nameless.into_iter().filter(|(queue, jobs)| *jobs > max(queue));
    found.extend(
        too_many.map(|(queue, jobs)| format!("{queue}: {jobs} jobs of unknown origin, {} at most", max(queue))),
    );
    found
}
