//! The checker: pure functions over a history. Each rule lists its violations; unknown answers violate nothing.

mod answers;
mod batches;
mod closing;
mod counts;
mod drafts;
mod eligible;
mod expiry;
mod gates;
mod index;
mod kept;
mod legal;
mod line;
mod mutants;
mod once;
mod opinions;
mod origin;
mod refusals;
mod windows;

use self::index::Index;
use crate::record::History;

type Rule = fn(&Index) -> Vec<String>;

/// The rules, by name.
const RULES: &[(&str, Rule)] = &[
    ("each job makes only legal moves, and each move is one event", legal::moves),
    ("every acknowledged change is in the stream", answers::acknowledged),
    ("the stream has no event without a call", answers::asked_for),
    ("events of consecutive calls are in order", answers::in_time),
    ("nothing lost", kept::nothing_lost),
    ("nothing invented", origin::nothing_invented),
    ("no two certain reservations of a job overlap", windows::apart),
    ("one completion of a job", once::completion),
    ("one job an idempotency key", once::key),
    ("one live job of a kind", once::twins),
    ("no lock is held twice", gates::locks),
    ("no batch exceeds its concurrency", gates::concurrency),
    ("no worker exceeds its limit", gates::worker_limit),
    ("within a client, first come, first served", line::order),
    ("clients take turns", line::fairness),
    ("a job counts what happened to it", counts::of_jobs),
    ("each reservation has its attempt number", counts::attempts),
    ("a queue counts what happened in it", counts::of_queues),
    ("the feed lists each completion once, in order", kept::feed),
    ("a webhook gets each completion, and no other", kept::delivered),
    ("a webhook is sent no event of what may be taken back", kept::posted),
    ("a batch counts its jobs, and ends once", batches::ends),
    ("a job that expires has ended by then, and not before", expiry::in_time),
    ("a job is given only to those who may have it", eligible::given),
    ("no worker is given two jobs of a question", opinions::one_each),
    ("a completion is final when its time is over, and not before", closing::in_time),
    ("what was taken back is not the result", closing::taken_back),
    ("an undo shows what was handed in", closing::shown),
    ("drafts come back", drafts::come_back),
    ("refused calls have no effect", refusals::no_effect),
    ("every refusal has a documented reason", refusals::have_reasons),
];

/// The violations of one rule.
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

/// A readable report: the first few violations of each rule.
pub fn report(breaches: &[Breach]) -> String {
    let streamed = breaches.iter().map(|Breach { rule, found }| {
        let some: Vec<_> = found.iter().take(5).map(|one| format!("    {one}\n")).collect();
        format!("  {rule}: {} times\n{}", found.len(), some.concat())
    });
    streamed.collect()
}
