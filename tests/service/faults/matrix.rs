//! Every transition with every fault: at most one effect, and no answer claims more than is true.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::cases::{self, Call};
use crate::world::{
    Answer, CallFate, World, eventually,
    keyspace::{self, KEYS, Keyspace},
};

/// What may happen to the one call of a script under test.
const FATES: [(&str, CallFate); 20] = [
    ("is lost", CallFate::NotDelivered),
    ("loses its reply", CallFate::CutAt(0)),
    ("loses all but a byte of its reply", CallFate::CutAt(1)),
    ("loses all but the beginning of its reply", CallFate::CutAt(9)),
    ("loses the end of its reply", CallFate::CutAt(usize::MAX)),
    ("is slow", CallFate::Slow(300)),
    ("comes after its caller gave up", CallFate::Held),
    ("meets a server that loads", CallFate::ErrorReply("LOADING Redis is loading the dataset in memory")),
    ("meets a replica", CallFate::ErrorReply("READONLY You can't write against a read only replica.")),
    ("meets an orphan", CallFate::ErrorReply("MASTERDOWN Link with MASTER is down")),
    ("meets a long script", CallFate::ErrorReply("BUSY Redis is busy running a script.")),
    ("meets a primary that is alone", CallFate::ErrorReply("NOREPLICAS Not enough good replicas to write.")),
    ("meets a full disk", CallFate::ErrorReply("MISCONF Errors writing to the AOF file")),
    ("meets a full memory", CallFate::ErrorReply(FULL)),
    ("meets a cluster that is down", CallFate::ErrorReply("CLUSTERDOWN Hash slot not served")),
    ("meets half a slot", CallFate::ErrorReply("TRYAGAIN Multiple keys request during rehashing of slot")),
    ("meets a server that has forgotten it", CallFate::ErrorReply("NOSCRIPT No matching script. Please use EVAL.")),
    ("meets a server without functions", CallFate::ErrorReply("ERR Function not found")),
    ("may not be made", CallFate::ErrorReply("NOPERM User intray has no permissions to run the 'fcall' command")),
    ("is answered with an unknown error", CallFate::ErrorReply("ERR whatever")),
];

/// No busy machine makes a call late that meets no fault; one call of each walk comes after it.
const REDIS_TIMEOUT_MS: &str = "5000";
const FULL: &str = "OOM command not allowed when used memory > 'maxmemory'.";

/// Redis refuses no script for memory that has the flag `allow-oom`, unless the script is large.
fn may_be_refused_memory(script: &str) -> bool {
    let path = format!("{}/lua/transitions/{script}.lua", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a script");
    let flags = text.lines().find(|line| line.starts_with("-- FLAGS")).unwrap_or_default();
    !flags.contains("allow-oom") || flags.contains("if-small")
}

/// A test for each transition, and their list.
macro_rules! transitions {
    ($($name:ident)*) => {
        const COVERED: &[&str] = &[$(stringify!($name)),*];
        $(#[tokio::test]
        async fn $name() {
            walk(Row { script: stringify!($name), nth: 1, restarts: false }, async |w, q| cases::$name(w, q).await).await;
        })*
    };
}

transitions! {
    abandon append cancel complete create enqueue expire extend fail hand_over purge reassign release reopen reprioritize requeue reserve
    seal seen set stage sweep withdraw
}

#[test]
fn every_transition_has_a_fault_test() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("lua/transitions");
    let paths = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let name = |path: std::path::PathBuf| path.file_stem()?.to_str().map(str::to_owned);
    let mut files: Vec<_> = paths.filter_map(name).collect();
    files.sort();
    let mut covered: Vec<_> = COVERED
        .iter()
        .chain(&super::background::COVERED)
        .chain(&super::sheets::COVERED)
        .chain(&super::webhooks::COVERED)
        .map(|name| (*name).to_owned())
        .collect();
    covered.sort();
    assert_eq!(
        covered, files,
        "a transition has its place in faults::matrix, or in faults::background, faults::sheets or faults::webhooks if no call asks for it"
    );
}

/// What happens without a fault: the first answer, the answer of a repeat, and the state after both.
struct Clean {
    first: (u16, Value),
    again: (u16, Value),
    after: Vec<Seen>,
}

/// A fault in a later script of the same creation.
#[tokio::test]
async fn batch_creation_that_fails_midway_can_be_repeated() {
    walk(Row { script: "append", nth: 2, restarts: true }, async |w, q| cases::create(w, q).await).await;
}

#[tokio::test]
async fn completion_that_can_be_taken_back_is_applied_at_most_once() {
    walk(Row { script: "complete", nth: 1, restarts: false }, async |w, q| cases::close(w, q).await).await;
}

#[tokio::test]
async fn bulk_reprioritize_is_applied_at_most_once() {
    walk(Row { script: "reprioritize", nth: 1, restarts: false }, async |w, q| cases::reprioritize_all(w, q).await)
        .await;
}

/// The script call that meets a fault.
struct Row {
    script: &'static str,
    /// Which call of that script, counted from 1.
    nth: usize,
    /// A failed try is recorded in events and totals, and a repeat starts again.
    restarts: bool,
}

async fn walk(row: Row, prepare: impl AsyncFn(&World, &str) -> Call) {
    let w = World::plan().with_proxy().flag("--redis-timeout-ms", REDIS_TIMEOUT_MS).start().await;
    w.stop_clock();
    let clean = clean(&w, &prepare).await;
    let fates =
        FATES.into_iter().filter(|(_, fate)| *fate != CallFate::ErrorReply(FULL) || may_be_refused_memory(row.script));
    for (n, (what, fate)) in fates.enumerate() {
        let q = format!("queue{n:02}");
        let call = prepare(&w, &q).await;
        println!("{} {what}", row.script);
        run_with_fault(&w, &q, &row, (&call, fate), &clean).await;
    }
    w.check().await;
}

async fn clean(w: &World, prepare: &impl AsyncFn(&World, &str) -> Call) -> Clean {
    let call = prepare(w, "clean").await;
    let before = stored(w, "clean", false).await;
    let first = plain("clean", &call.make(w).await);
    assert!(first.0 < 300 && stored(w, "clean", false).await != before, "the call changes the queue: {first:?}");
    let after = view(w, "clean").await;
    let again = plain("clean", &call.make(w).await);
    assert_eq!(view(w, "clean").await, after, "a repeat changes nothing");
    Clean { first, again, after }
}

async fn run_with_fault(w: &World, q: &str, row: &Row, (call, fate): (&Call, CallFate), clean: &Clean) {
    let before = stored(w, q, row.restarts).await;
    w.proxy().inject(row.script, row.nth, fate);
    let answer = call.make(w).await;
    assert_eq!(w.proxy().injected_calls(), 1, "{}", answer.text());
    if matches!(fate, CallFate::CutAt(_)) {
        assert_eq!(w.proxy().executed_calls(), 1, "Redis ran the call");
    }
    let is_done = stored(w, q, row.restarts).await != before;
    assert_true_answer(q, &answer, is_done, clean);
    recovered(w).await;

    let again = plain(q, &call.make(w).await);
    // A repeat completes a call of several scripts, and gets the answer of the first.
    let expected = if is_done { [&clean.again, &clean.first] } else { [&clean.first, &clean.first] };
    assert!(expected.contains(&&again), "done: {is_done}: {} and again: {again:?}", answer.text());
    w.proxy().release_held();
    if fate == CallFate::Held {
        eventually("the held call is done", async || (w.proxy().executed_calls() == 1).then_some(())).await;
    }
    for (clean, found) in clean.after.iter().zip(view(w, q).await) {
        if !(row.restarts && clean.0 == "history") {
            assert_eq!(*clean, found, "the same state as without a fault");
        }
    }
}

/// Asserts that the answer of a call that met a fault is true.
fn assert_true_answer(q: &str, answer: &Answer, is_done: bool, clean: &Clean) {
    if answer.status < 300 {
        assert!(is_done && plain(q, answer) == clean.first, "done: {is_done}: {}", answer.text());
        return;
    }
    assert!([500, 503, 507].contains(&answer.status), "{}", answer.text());
    let applied = &answer.json()["applied"];
    let is_certain = applied == &json!(false) || answer.status == 507;
    assert!(is_certain || applied == "unknown", "{}", answer.text());
    assert!(!(is_certain && is_done), "it is applied: {}", answer.text());
}

/// Waits until each shared connection works again.
async fn recovered(w: &World) {
    let mut in_a_row = 0;
    eventually("Redis is connected", async || {
        let listed = w.get("/queues").await;
        let is_whole = listed.status == 200 && listed.json()["unavailable"].is_null();
        in_a_row = if is_whole { in_a_row + 1 } else { 0 };
        (in_a_row > 3).then_some(())
    })
    .await;
}

/// Keys that a failed try changes: its events, totals and turns.
const HISTORY: [&str; 3] = ["events", "totals", "turns"];

/// All keys of a queue in Redis, with or without its history.
async fn stored(w: &World, q: &str, skip_history: bool) -> BTreeMap<&'static str, String> {
    let mut keyspace = Keyspace::read(&w.engine, q).await;
    // Each sweep notes how much the events hold.
    if let Some(totals) = keyspace.hashes.get_mut("totals") {
        totals.remove(b"parts".as_slice());
    }
    let mut stored: BTreeMap<_, _> = keyspace.zsets.iter().map(|(name, set)| (*name, format!("{set:?}"))).collect();
    stored.extend(keyspace.hashes.iter().map(|(name, hash)| (*name, format!("{hash:?}"))));
    let events: u64 = w.engine.run(&format!("XLEN intray:{{{q}}}:2:events")).await;
    let is_registered: Option<String> = w.engine.run(&format!("ZSCORE intray:2:queues {q}")).await;
    stored.extend([("events", events.to_string()), ("queues", is_registered.is_some().to_string())]);
    stored.retain(|name, _| !(skip_history && HISTORY.contains(name)));
    stored
}

/// A named part of the visible state.
type Seen = (&'static str, Value);

/// All that callers can see of the queue, without what differs between queues.
async fn view(w: &World, q: &str) -> Vec<Seen> {
    let mut queue = plain(q, &w.get(&format!("/queues/{q}")).await).1;
    let totals = queue["totals"].take();
    let mut seen = vec![("now", queue)];
    for state in ["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"] {
        seen.push((state, plain(q, &w.get(&format!("/queues/{q}/jobs?state={state}&limit=100")).await).1));
    }
    let mut events = keyspace::events(&w.engine, q).await;
    // A repeated extend records a second event, with the same deadline.
    events.retain(|event| event.kind != "extended");
    let covered: Vec<_> = events.iter().map(|event| format!("{} {}", event.kind, event.note)).collect();
    seen.push(("history", json!([totals, covered])));
    for (name, _) in KEYS {
        let exists: u64 = w.engine.run(&format!("EXISTS intray:{{{q}}}:2:{name}")).await;
        seen.push((name, json!(exists)));
    }
    seen
}

fn plain(q: &str, answer: &Answer) -> (u16, Value) {
    let mut body = answer.json();
    strip(q, &mut body);
    (answer.status, body)
}

fn strip(q: &str, body: &mut Value) {
    match body {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !(["id", "reservation", "next", "resume", "server_time", "batch"].contains(&name.as_str())
                    || name.ends_with("_at"))
            });
            fields.values_mut().for_each(|value| strip(q, value));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| strip(q, value)),
        Value::String(text) => *text = text.replace(q, "clean"),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
