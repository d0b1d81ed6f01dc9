//! The constants of the scripts: `$NAME` in a file of `lua/` is the value that it has here.

use crate::{
    job::{Code, Line, State, StoredEnding, Total, limits, settings::DEFAULT},
    record_fields,
};

/// Defaults of the settings and limits that scripts know by name.
const CONSTANTS: [(&str, u64); 25] = [
    ("SPAN", 1 << limits::SPAN_BITS),
    ("ID_LEN", Code::LEN as u64),
    ("TAIL_LEN", Code::TAIL_LEN as u64),
    ("STEM_LEN", (Code::LEN - Code::TAIL_LEN) as u64),
    ("RESERVE_BYTES", limits::RESERVE_BYTES as u64),
    ("RETENTION_MAX", DEFAULT.retention_max as u64),
    ("RETENTION_MS", DEFAULT.retention_ms as u64),
    ("MAX_ATTEMPTS", DEFAULT.max_attempts as u64),
    ("MAX_HOLD_MS", DEFAULT.max_hold_ms as u64),
    ("MAX_JOBS", DEFAULT.max_jobs as u64),
    ("LEASE_MS", DEFAULT.lease_ms as u64),
    ("WORKER_LIMIT", DEFAULT.worker_limit as u64),
    ("WARN_MS", DEFAULT.warn_ms as u64),
    ("BATCH_TOTAL", limits::BATCH_TOTAL as u64),
    ("LATE_RESULTS", limits::LATE_RESULTS),
    ("MAX_ASSIGNEES", limits::ASSIGNEES as u64),
    ("WAITING_DELIVERIES", limits::WAITING_DELIVERIES),
    ("MAX_ACTIONS", limits::ACTIONS),
    ("HISTORY_MINUTES", limits::HISTORY_MINUTES as u64),
    ("HISTORY_HOURS", limits::HISTORY_HOURS as u64),
    ("HISTORY_PLACES", limits::HISTORY_PLACES),
    ("PAGE_ENTRIES", limits::PAGE_ENTRIES as u64),
    ("STEP_JOBS", limits::STEP_JOBS as u64),
    ("SWEEP_JOBS", limits::SWEEP_JOBS as u64),
    ("MAX_HELD", limits::HELD as u64),
];

/// All constants: the numbers above, records and calls, numbered lists (`NAME = 1, …, LIST = {'word', …}`), the names of totals, and what
/// names begin with.
pub(super) fn constants() -> Vec<(&'static str, String)> {
    let states = State::ALL.map(|state| (state.word().to_uppercase(), state.word()));
    let endings = StoredEnding::ALL.map(|how| (how.word().to_owned(), how.ending().word()));
    let numbers = CONSTANTS.map(|(name, value)| (name, value.to_string()));
    let lists = [("STATES", states.to_vec()), ("ENDINGS", endings.to_vec())];
    let lists = lists.map(|(name, words)| (name, numbered(name, &words)));
    let (totals, differs) = (quoted(&Total::ALL.map(Total::word)), quoted(&record_fields::task_fields::TASK_FIELDS));
    numbers
        .into_iter()
        .chain(lists)
        .chain([("TOTALS", totals), ("DIFFERS", differs)])
        .chain(texts())
        .chain(record_fields::constants())
        .collect()
}

/// Digits of ids, what begins a line, and the first text after all lines of workers.
fn texts() -> [(&'static str, String); 4] {
    [
        ("DIGITS", String::from_utf8_lossy(&Code::DIGITS).into_owned()),
        ("WORKER_LINE", Line::WORKER.to_string()),
        ("AFTER_WORKERS", char::from(Line::WORKER as u8 + 1).to_string()),
        ("SKILL_LINE", Line::SKILL.to_string()),
    ]
}

fn numbered(list: &str, words: &[(String, &str)]) -> String {
    let numbers = words.iter().enumerate().map(|(i, (name, _))| format!("{name} = {}, ", i + 1));
    let words: Vec<_> = words.iter().map(|(_, word)| *word).collect();
    format!("{}{list} = {}", numbers.collect::<String>(), quoted(&words))
}

fn quoted(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    format!("{{{}}}", quoted.join(", "))
}
