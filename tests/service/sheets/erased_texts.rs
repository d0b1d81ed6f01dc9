//! In a text, a name goes where it is a word of its own, and nothing else does.

use serde_json::json;

use crate::{
    webhooks::line,
    world::{World, eventually, percent_encode, receiver::Receiver},
};

/// A worker, a text, and what is left of it.
const TEXTS: [(&str, &str, &str); 17] = [
    (
        "ann",
        "Ann and ann's mother Anna, joann, ann2 and \u{e9}ann; (ann) ann_1 ann",
        "Ann and *'s mother Anna, joann, ann2 and \u{e9}ann; (*) *_1 *",
    ),
    ("ann", "\"ann\" said", "\"*\" said"),
    // What JSON writes as an escape is no part of a name.
    ("n", "a\n b", "a\n b"),
    ("n", "a\nn b", "a\n* b"),
    ("t", "a\t b\u{1}t", "a\t b\u{1}*"),
    ("u0001", "a\u{1} b", "a\u{1} b"),
    ("nora", "db down\nora 1\n", "db down\nora 1\n"),
    ("nora", "a\\nora, a\\\nora", "a\\*, a\\\nora"),
    ("ebb", "a\nebb, a\\nebb", "a\n*, a\\nebb"),
    // Signs and blanks of any script.
    ("dora", "ask \u{201c}dora\u{201d} please", "ask \u{201c}*\u{201d} please"),
    ("dora", "dora\u{2019}s client \u{2014}dora\u{2014} dora\u{2026}", "*\u{2019}s client \u{2014}*\u{2014} *\u{2026}"),
    ("dora", "\u{ab}\u{a0}dora\u{a0}\u{bb} \u{bf}dora?", "\u{ab}\u{a0}*\u{a0}\u{bb} \u{bf}*?"),
    ("dora", "\u{8bf7}\u{95ee}dora\u{3002}", "\u{8bf7}\u{95ee}*\u{3002}"),
    ("dora", "dora\u{e9} \u{436}dora dora\u{1f600}", "dora\u{e9} \u{436}dora *\u{1f600}"),
    ("\u{674e}\u{660e}", "\u{8bf7}\u{95ee}\u{674e}\u{660e}\u{8bf7}", "\u{8bf7}\u{95ee}*\u{8bf7}"),
    ("J\u{f6}", "J\u{f6}rg, J\u{f6}; AJ\u{f6}", "J\u{f6}rg, *; AJ\u{f6}"),
    ("a\"b\\", "a\"b\\ a\"b\\x", "* *x"),
];

/// The text of a job, of the call that put it back, and of a delivery.
#[tokio::test]
async fn name_is_replaced_in_texts_where_it_is_a_word() {
    let mut receiver = Receiver::start().await;
    let w = World::plan().own_process().with_webhooks([line("shop", &receiver, "*", "failed")]).start().await;
    receiver.go_down().await;
    for (n, (_, text, _)) in TEXTS.iter().enumerate() {
        let queue = format!("q{n}");
        for attempts in [1, 5] {
            w.send_enqueue(json!({ "queue": queue, "payload": attempts, "dedupe": false, "max_attempts": attempts }))
                .await
                .is(201);
        }
        for _ in 0..2 {
            let held = w.reserve_with(json!({ "queues": [queue], "worker": "bob" })).await;
            w.post("/jobs/fail", json!({ "reservation": held.reservation, "error": text })).await.is(200);
        }
        w.post("/jobs/requeue", json!({ "queue": queue, "error": text })).await.is(200);
    }
    let are_there =
        async || (w.get("/webhooks").await.is(200)["webhooks"][0]["waiting"] == json!(2 * TEXTS.len())).then_some(());
    eventually("each text is in a delivery", are_there).await;
    for (n, (worker, text, left)) in TEXTS.iter().enumerate() {
        w.delete(&format!("/workers/{}", percent_encode(worker))).await.is(200);
        // Later names are words of other texts.
        if TEXTS[..n].iter().any(|(_, other, _)| other == text) {
            continue;
        }
        let queue = format!("q{n}");
        let actions = w.get(&format!("/queues/{queue}/actions")).await.is(200);
        assert_eq!(actions["actions"][0]["parameters"]["error"], json!(left), "{worker:?} of {text:?}");
        let listed = w.get(&format!("/queues/{queue}/jobs?state=waiting")).await.is(200);
        assert!(listed.to_string().contains(&json!(left).to_string()), "{listed}");
    }
    w.check().await;
}

/// The service says `grace` of a holder who did not come back.
#[tokio::test]
async fn words_of_the_service_are_no_names() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("bob").await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "grace_ms": 1_000 })).await.is(200);
    w.advance_clock(1_001);
    w.sweep().await;
    let before = w.events().await.len();
    assert_eq!(w.event_count("abandoned").await, 1);
    w.delete("/workers/grace").await.is(200);
    assert_eq!(w.events().await.len(), before);
    let held = w.reserve_as("bob").await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "reason": "grace" })).await.is(200);
    w.delete("/workers/grace").await.is(200);
    assert_eq!(w.job(&held.id).await["reasons"][0]["reason"], json!("*"), "a person has written that");
    w.check().await;
}
