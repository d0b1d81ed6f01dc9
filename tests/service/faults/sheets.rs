//! The same faults for day sheets: each event counts once, and a line that was removed stays away.

use intray::{
    job::{Name, QueueName, SheetCounter},
    sheets::{ForgetOutcome, Sheets},
    store::Queues,
};
use serde_json::json;

use super::background::FATES;
use crate::world::{World, eventually};

/// The transitions tested in this file.
pub const COVERED: [&str; 4] = ["erase", "expunge", "tally", "unname"];

async fn completed(sheets: &Sheets, queue: &QueueName) -> Option<u64> {
    let book = sheets.open(queue).await.ok()??;
    let lines = sheets.day(queue, book.today(), None).await.ok()?;
    Some(lines.iter().map(|line| line.counts.get(SheetCounter::Completed)).sum())
}

#[tokio::test]
async fn tally_and_erase_survive_every_fault() {
    let w = World::plan().with_proxy().start().await;
    let sheets = Sheets::new(Queues::new(w.proxy().url(), "intray").expect("a handle"));
    let ann = Name::parse("ann").expect("a name");
    for (n, fate) in FATES.into_iter().enumerate() {
        let q = format!("q{n}");
        let queue = QueueName::parse(&q).expect("a name");
        w.configure(&q, json!({ "sheets": true })).await;
        w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        w.complete(&w.reserve_with(json!({ "queues": [q], "worker": "ann" })).await).await.is(200);
        w.proxy().inject("tally", 1, fate);
        eventually("the call meets it", async || {
            let _ = sheets.open(&queue).await;
            (w.proxy().injected_calls() == 1).then_some(())
        })
        .await;
        let counted = eventually("the next call does it", async || completed(&sheets, &queue).await).await;
        assert_eq!(counted, 1, "{fate:?}");
        w.proxy().inject("erase", 1, fate);
        let result = sheets.forget(std::slice::from_ref(&queue), &ann, "*").await;
        assert!(result.is_err() || w.engine.is_cluster(), "{fate:?}: {result:?}");
        let forget = async || sheets.forget(std::slice::from_ref(&queue), &ann, "*").await.ok();
        let outcome = eventually("the next call does it", forget).await;
        assert!(matches!(outcome, ForgetOutcome::Erased(_)), "{fate:?}: {outcome:?}");
        let left = eventually("it can be read", async || completed(&sheets, &queue).await).await;
        assert_eq!(left, 0, "{fate:?}");
    }
    w.check().await;
}

async fn keeps_name(w: &World, q: &str) -> bool {
    let [live, events] = ["live", "events"].map(|key| format!("intray:{{{q}}}:2:{key}"));
    let records: Vec<Vec<u8>> = w.engine.run(&format!("HVALS {live}")).await;
    let entries: Vec<(String, Vec<Vec<u8>>)> = w.engine.run(&format!("XRANGE {events} - +")).await;
    let has_name = |bytes: &[u8]| bytes.windows(3).any(|part| part == b"ann");
    records.iter().chain(entries.iter().flat_map(|(_, fields)| fields)).any(|bytes| has_name(bytes))
}

#[tokio::test]
async fn unname_and_expunge_survive_every_fault() {
    let w = World::plan().with_proxy().start().await;
    let sheets = Sheets::new(Queues::new(w.proxy().url(), "intray").expect("a handle"));
    let ann = Name::parse("ann").expect("a name");
    for (n, (script, fate)) in
        ["unname", "expunge"].into_iter().flat_map(|one| FATES.map(|fate| (one, fate))).enumerate()
    {
        let q = format!("q{n}");
        let queue = QueueName::parse(&q).expect("a name");
        w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        w.complete(&w.reserve_with(json!({ "queues": [q], "worker": "ann" })).await).await.is(200);
        assert!(keeps_name(&w, &q).await);
        w.proxy().inject(script, 1, fate);
        let result = sheets.forget(std::slice::from_ref(&queue), &ann, "*").await;
        assert!(result.is_err() || w.engine.is_cluster(), "{script} {fate:?}: {result:?}");
        let forget = async || sheets.forget(std::slice::from_ref(&queue), &ann, "*").await.ok();
        eventually("the next call does it", forget).await;
        assert!(!keeps_name(&w, &q).await, "{script} {fate:?}");
    }
    w.check().await;
}
