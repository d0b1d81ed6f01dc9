//! The fields of a completion that can be taken back, alone and in an array.

use serde_json::json;

use crate::world::{World, assert_contains};

#[tokio::test]
async fn undo_ms_is_a_whole_number_up_to_a_minute() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    for (field, value) in [
        ("undo_ms", json!(-1)),
        ("undo_ms", json!(60_001)),
        ("undo_ms", json!("10")),
        ("undo_ms", json!(1.5)),
        ("undo_ms", json!(null)),
        ("resumes", json!(-1)),
        ("resumes", json!("0")),
    ] {
        let mut body = json!({ "reservation": held.reservation });
        body[field] = value;
        w.post("/jobs/complete", body).await.invalid_at(&[&format!("/{field}")]);
    }
    w.post("/jobs/undo", json!({ "reservation": held.reservation, "undo_ms": 1 })).await.invalid_at(&["/undo_ms"]);
    w.post("/jobs/undo", json!({})).await.invalid_at(&["/reservation"]);
    assert_contains(&w.undo(&held).await.is(200), json!({ "duplicate": true, "resumes": 0, "draft": null }));
    assert_eq!(w.close(&held, "a", 60_000).await.is(200)["final"], false);
    w.undo(&held).await.is(200);
    let at_once = json!({ "reservation": held.reservation, "result": "b", "undo_ms": 0, "resumes": 1 });
    assert_eq!(w.post("/jobs/complete", at_once).await.is(200)["final"], true);
    w.check().await;
}

#[tokio::test]
async fn each_item_of_an_array_has_its_own_time() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let held = w.reserve_all(json!({ "limit": 3 })).await;
    let item =
        |(n, undo_ms): (usize, u64)| json!({ "reservation": held[n].reservation, "result": n, "undo_ms": undo_ms });
    let items = [(0, 10_000), (1, 0), (2, 60_000)].map(item);
    let answers = w.post("/jobs/complete", json!(items)).await.is(200);
    assert_contains(&answers["jobs"][0], json!({ "final": false, "final_in_ms": 10_000 }));
    assert_contains(&answers["jobs"][1], json!({ "final": true, "final_in_ms": null }));
    assert_contains(&answers["jobs"][2], json!({ "final": false, "final_in_ms": 60_000 }));
    w.advance_clock(10_000);
    let all = held.iter().map(|held| json!({ "reservation": held.reservation })).collect();
    let undone = w.post("/jobs/undo", all).await.is(200);
    for n in [0, 1] {
        assert_contains(
            &undone["jobs"][n]["error"],
            json!({ "status": 409, "reason": "completed", "job_state": "completed" }),
        );
    }
    assert_contains(&undone["jobs"][2], json!({ "state": "reserved", "draft": 2 }));
    w.check().await;
}

#[tokio::test]
async fn undo_is_read_as_text_and_unknown_reservations_are_lost() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    w.close(&held, "a", 10_000).await.is(200);
    let body = json!({ "reservation": held.reservation }).to_string();
    let beacon = w.request("POST", "/jobs/undo").header("content-type", "text/plain").body(body).send().await;
    assert_contains(&beacon.is(200), json!({ "duplicate": false, "draft": "a" }));
    let mut unknown = held.clone();
    unknown.reservation = format!("{}.{}", held.id, "0".repeat(26));
    w.undo(&unknown).await.unknown_reservation();
    w.abandon(&held).await.is(200);
    w.undo(&held).await.lost("abandoned", "waiting");
    w.check().await;
}
