//! A queue lists who has worked in it lately, and a call that names others is told so.

use serde_json::{Value, json};

use crate::world::{
    World,
    access::{SECRET, key, signed},
    eventually,
    pending_reserve::PendingReserve,
};

const RECENT: &str = "/queues/default/workers?recent=true";

async fn recent(w: &World) -> Value {
    w.get(RECENT).await.is(200)
}

fn list(names: &[&str], skills: &[&str]) -> Value {
    json!({ "names": names, "skills": skills, "more": false })
}

async fn forget_events(w: &World) {
    let _: u64 = w.engine.run("XTRIM intray:{default}:2:events MAXLEN 0").await;
}

#[tokio::test]
async fn holders_and_those_in_the_last_events_are_listed() {
    let w = World::start().await;
    w.get(RECENT).await.refused("unknown-queue");
    w.enqueue_with(json!({ "payload": 0, "assignees": ["zoe"] })).await;
    assert_eq!(recent(&w).await, list(&[], &[]), "who is only named has not worked");
    for n in 1..5 {
        w.enqueue(n).await;
    }
    w.reserve_as("bob").await;
    w.complete(&w.reserve_as("ann").await).await.is(200);
    w.complete(&w.reserve().await).await.is(200);
    assert_eq!(recent(&w).await, list(&["ann", "bob"], &[]));
    forget_events(&w).await;
    assert_eq!(recent(&w).await, list(&["bob"], &[]), "he holds a job");
    w.check().await;
}

#[tokio::test]
async fn day_sheets_know_workers_for_a_fortnight_of_work() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "sheets": true })).await;
    for day in 0..15 {
        w.enqueue(day).await;
        w.complete(&w.reserve_as(&format!("w{day:02}")).await).await.is(200);
        w.get("/queues/default/sheets").await.is(200);
        w.advance_clock(86_400_000);
    }
    forget_events(&w).await;
    let names: Vec<_> = (1..15).map(|day| format!("w{day:02}")).collect();
    assert_eq!(recent(&w).await, json!({ "names": names, "skills": [], "more": false }));
    w.check().await;
}

#[tokio::test]
async fn skills_are_those_of_jobs_that_workers_were_given() {
    let w = World::start().await;
    let german = w.enqueue_with(json!({ "payload": 1, "skill": "de" })).await;
    w.enqueue_with(json!({ "payload": 2, "skill": "germn" })).await;
    assert_eq!(recent(&w).await, list(&[], &[]), "a skill for which a job waits may be a slip");
    let held = w.reserve_with(json!({ "worker": "ann", "skills": ["de"] })).await;
    assert_eq!(recent(&w).await, list(&["ann"], &["de"]));
    // Ann has the job, and not this skill.
    w.patch(&format!("/jobs/{german}"), json!({ "skill": "fr" })).await.is(200);
    assert_eq!(recent(&w).await, list(&["ann"], &[]));
    w.complete(&held).await.is(200);
    assert_eq!(recent(&w).await, list(&["ann"], &[]));
    w.check().await;
}

#[tokio::test]
async fn callers_that_wait_are_listed_with_their_skills() {
    let w = World::start().await;
    w.update_settings(json!({ "lease_ms": 60_000 })).await;
    let waits = json!({ "worker": "ann", "skills": ["de", "fr"], "wait_ms": 30_000 });
    let call = PendingReserve::send(&w, &waits).await;
    eventually("ann waits", async || (recent(&w).await == list(&["ann"], &["de", "fr"])).then_some(())).await;
    assert_eq!(call.hang_up().await, None);
    eventually("ann has left", async || (recent(&w).await == list(&[], &[])).then_some(())).await;
    w.check().await;
}

#[tokio::test]
async fn patch_names_those_who_have_not_worked_lately() {
    let w = World::start().await;
    w.enqueue_with(json!({ "payload": 1, "skill": "de" })).await;
    w.complete(&w.reserve_with(json!({ "worker": "ann", "skills": ["de"] })).await).await.is(200);
    let path = format!("/jobs/{}", w.enqueue(2).await);
    for (patch, unseen) in [
        (json!({ "priority": 3 }), json!([])),
        (json!({ "assignees": ["ann"], "skill": "de" }), json!([])),
        (json!({ "assignees": ["carol", "ann", "dan"], "excluded": ["dan", "eve"] }), json!(["carol", "dan", "eve"])),
        (json!({ "assignees": null, "excluded": null, "skill": "germn" }), json!(["germn"])),
        (json!({ "assignees": ["germn"], "skill": "germn" }), json!(["germn", "germn"])),
        (json!({ "assignees": null, "skill": null }), json!([])),
    ] {
        assert_eq!(w.patch(&path, patch.clone()).await.is(200)["unseen"], unseen, "{patch}");
    }
    w.check().await;
}

#[tokio::test]
async fn reassign_names_successors_who_have_not_worked_lately() {
    let w = World::start().await;
    w.enqueue(0).await;
    w.complete(&w.reserve_as("ann").await).await.is(200);
    w.enqueue_many((1..121).map(|n| json!({ "payload": n, "assignees": ["bob"] }))).await;
    let body = json!({ "queue": "default", "from": "bob", "to": ["ann", "carol, dan"] });
    let first = w.post("/jobs/reassign", body.clone()).await.is(200);
    assert_eq!((&first["changed"], &first["unseen"]), (&json!(100), &json!(["carol, dan"])));
    let mut rest = body;
    rest["after"] = first["next"].clone();
    let last = w.post("/jobs/reassign", rest).await.is(200);
    assert_eq!((&last["changed"], &last["unseen"]), (&json!(20), &json!([])), "the first call has said it");
    let none = w.post("/jobs/reassign", json!({ "queue": "default", "from": "ann", "to": null })).await.is(200);
    assert_eq!(none["unseen"], json!([]));
    w.check().await;
}

#[tokio::test]
async fn list_of_recent_workers_has_a_limit_and_no_pages() {
    let w = World::start().await;
    w.update_settings(json!({ "sheets": true })).await;
    w.enqueue_many((0..1_000).map(|n| json!({ "payload": n }))).await;
    w.enqueue(1_000).await;
    for n in 0..1_001 {
        w.reserve_as(&format!("w{n:04}")).await;
    }
    let page = recent(&w).await;
    let names = page["names"].as_array().expect("names");
    assert_eq!((names.len(), &names[0], &page["more"]), (1_000, &json!("w0000"), &json!(true)));
    // Who is known and not listed is not unseen.
    let id = w.enqueue(-1).await;
    let answer = w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["w1000", "w1001"] })).await.is(200);
    assert_eq!(answer["unseen"], json!(["w1001"]));
    w.get(&format!("{RECENT}&limit=5&after=00")).await.invalid_by("parameter", &["after", "limit"]);
    w.get("/queues/default/workers?recent=yes").await.invalid_by("parameter", &["recent"]);
    assert_eq!(w.get("/queues/default/workers?recent=false&limit=1").await.is(200)["workers"][0]["worker"], "w0000");
    w.check().await;
}

#[tokio::test]
async fn recent_workers_are_for_viewers_and_operators() {
    let keys = [("eye", "viewer", "*"), ("desk", "worker", "*"), ("web", "producer", "*"), ("far", "viewer", "else*")];
    let w = World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    w.enqueue(1).await;
    w.reserve_as("ann").await;
    assert_eq!(w.with_credential(&key("eye")).get(RECENT).await.is(200), list(&["ann"], &[]));
    let token = signed(SECRET, json!({ "sub": "ann" }));
    for credential in [key("desk"), key("web"), token, key("far")] {
        w.with_credential(&credential).get(RECENT).await.refused("forbidden");
    }
    w.check().await;
}
