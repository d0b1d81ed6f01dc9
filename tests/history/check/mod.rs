//! The checker: pure functions over a history. Each rule says what breaks it; what an unknown answer leaves open breaks nothing.

mod batches;
mod counts;
mod drafts;
mod gates;
mod index;
mod kept;
mod legal;
mod line;
mod once;
mod origin;
mod planted;
mod refusals;
mod told;
mod windows;

use self::index::Index;
use crate::record::History;

type Rule = fn(&Index) -> Vec<String>;

/// What must hold, by name.
const RULES: &[(&str, Rule)] = &[
    ("a job moves only as it may, and each move is told once", legal::moves),
    ("what was acknowledged is told", told::acknowledged),
    ("no more is told than was asked for", told::asked_for),
    ("what ended before another call began is told before it", told::in_time),
    ("nothing lost", kept::nothing_lost),
    ("nothing invented", origin::nothing_invented),
    ("no two certain reservations of a job overlap", windows::apart),
    ("one completion of a job", once::completion),
    ("one job an idempotency key", once::key),
    ("one live job of a kind", once::twins),
    ("no lock is held twice", gates::locks),
    ("no batch has more out than it may", gates::concurrency),
    ("no worker holds more than they may", gates::worker_limit),
    ("within a client, first come, first served", line::order),
    ("clients take turns", line::fairness),
    ("a job counts what happened to it", counts::of_jobs),
    ("a hand-out says which attempt it is", counts::attempts),
    ("a queue counts what happened in it", counts::of_queues),
    ("the feed tells each completion once, in order", kept::feed),
    ("a batch counts its jobs, and ends once", batches::ends),
    ("what was typed comes back", drafts::come_back),
    ("what was refused had no effect", refusals::no_effect),
    ("nobody is refused but for a reason", refusals::have_reasons),
];

/// What a rule found.
#[derive(Debug)]
pub struct Breach {
    pub rule: &'static str,
    pub found: Vec<String>,
}

pub fn check(history: &History) -> Vec<Breach> {
    let index = Index::new(history);
    let broken = RULES.iter().map(|(rule, find)| Breach { rule, found: find(&index) });
    broken.filter(|breach| !breach.found.is_empty()).collect()
}

/// For people: the first few of each rule.
pub fn report(breaches: &[Breach]) -> String {
    let told = breaches.iter().map(|Breach { rule, found }| {
        let some: Vec<_> = found.iter().take(5).map(|one| format!("    {one}\n")).collect();
        format!("  {rule}: {} times\n{}", found.len(), some.concat())
    });
    told.collect()
}
