//! Names and number of locks, and the list of their holders.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, number, percent_encode};

#[tokio::test]
async fn job_takes_eight_locks_of_256_bytes() {
    let w = World::start().await;
    let mut names: Vec<String> = (0..7).map(|n| format!("{n}{}", "x".repeat(255))).collect();
    names.push(format!("{}é", "ü {}*\"\\'".repeat(28).chars().take(200).collect::<String>()));
    assert!(names.iter().all(|name| name.len() <= 256));
    let id = w.enqueue_with(json!({ "payload": 1, "locks": names })).await;
    assert_eq!(w.job(&id).await["locks"], json!(names), "as they were given");
    let held = w.reserve().await;
    assert_eq!(held.body["locks"], json!(names));
    assert_eq!(w.locks().await.len(), 8);
    for (n, name) in names.iter().enumerate() {
        let one = w.send_enqueue(json!({ "payload": [n], "locks": [name] })).await.is(201);
        assert_eq!(one["state"], "blocked", "each of them is held");
        let row = w.get(&format!("/queues/default/locks?lock={}", percent_encode(name))).await.is(200);
        assert_contains(&row["locks"][0], json!({ "lock": name, "id": id, "blocked": 1 }));
    }
    let like = names[0].replace('x', "X");
    assert_eq!(
        w.send_enqueue(json!({ "payload": 2, "locks": [like] })).await.is(201)["state"],
        "waiting",
        "names differ by a byte"
    );
    w.complete(&held).await.is(200);
    assert_eq!(w.complete_all().await.len(), 9);
    w.check().await;
}

#[tokio::test]
async fn invalid_locks_are_refused_and_store_nothing() {
    let w = World::start().await;
    let nine: Vec<String> = (0..9).map(|n| n.to_string()).collect();
    let wrong = [
        json!(nine),
        json!(["a", "b", "a"]),
        json!([""]),
        json!(["x".repeat(257)]),
        json!(["ü".repeat(129)]),
        json!(["a", "b\u{0}c"]),
        json!(["a\nb"]),
        json!(["a\u{7f}"]),
        json!([7]),
        json!([null]),
        json!([["a"]]),
        json!("a"),
        json!({ "a": 1 }),
        json!(null),
    ];
    for locks in wrong {
        let answer = w.send_enqueue(json!({ "payload": 1, "locks": locks })).await;
        assert_eq!(answer.status, 422, "{locks}: {}", answer.text());
        let problem = answer.refused("invalid-request");
        let errors = problem["errors"].as_array().expect("errors");
        let blamed = |error: &Value| error["pointer"].as_str().is_some_and(|at| at.starts_with("/locks"));
        assert!(!errors.is_empty() && errors.iter().all(blamed), "{locks}: {problem}");
    }
    assert_eq!(w.leftover_keys().await, Vec::<String>::new());
    assert_eq!(
        w.send_enqueue(json!({ "payload": 1, "locks": [] })).await.is(201)["state"],
        "waiting",
        "none is what most have"
    );
    assert_eq!(w.reserve().await.body["locks"], json!([]));
    w.check().await;
}

#[tokio::test]
async fn lock_list_shows_holder_times_and_parked_count() {
    let w = World::start().await;
    w.stop_clock();
    w.get("/queues/default/locks").await.refused("unknown-queue");
    let both = w.enqueue_with(json!({ "payload": 0, "locks": ["b", "a"], "lease_ms": 60_000 })).await;
    let other = w.enqueue_locked(1, &["c"]).await;
    assert_eq!(w.locks().await.len(), 0, "no lock is held");
    let ann = w.reserve_as("ann").await;
    w.advance_clock(10_000);
    let unnamed = w.reserve().await;
    assert_eq!((&ann.id, &unnamed.id), (&both, &other));
    for (n, lock) in ["a", "a", "a", "c"].into_iter().enumerate() {
        w.enqueue_locked(n + 10, &[lock]).await;
    }
    w.enqueue_locked(20, &["free"]).await;
    let answer = w.get("/queues/default/locks").await;
    assert!(!answer.text().contains(&ann.reservation), "never the reservation");
    assert_eq!(answer.is(200)["server_time"], unnamed.body["reserved_at"]);
    let locks = w.locks().await;
    let until = |held: &Value| number(held, "expires_in_ms");
    let shown: Vec<_> = locks.iter().map(|held| (held["lock"].clone(), until(held), number(held, "blocked"))).collect();
    assert_eq!(shown, [(json!("a"), 50_000, 3), (json!("b"), 50_000, 0), (json!("c"), 300_000, 1)]);
    for held in &locks[..2] {
        assert_contains(held, json!({ "id": both, "worker": "ann", "reserved_at": ann.body["reserved_at"] }));
    }
    assert_contains(&locks[2], json!({ "id": other, "worker": null, "reserved_at": unnamed.body["reserved_at"] }));
    let job = w.job(&both).await;
    assert_eq!(locks[0]["expires_at"], job["reserved"]["expires_at"]);

    let only = async |name: &str| w.get(&format!("/queues/default/locks?lock={name}")).await.is(200)["locks"].clone();
    assert_contains(&only("c").await, json!([{ "lock": "c", "id": other, "blocked": 1 }]));
    assert_eq!(only("free").await, json!([]), "it is not held");
    assert_eq!(only("nonsense").await, json!([]));
    w.get("/queues/default/locks?lock=").await.invalid_by("parameter", &["lock"]);
    w.get("/queues/default/locks?limit=0").await.invalid_by("parameter", &["limit"]);
    w.get("/queues/default/locks?nonsense=1").await.refused("invalid-request");
    w.get("/queues/nowhere/locks").await.refused("unknown-queue");
    w.extend(&unnamed).await.is(200);
    w.complete(&ann).await.is(200);
    let shown: Vec<_> = w.locks().await.iter().map(|held| held["lock"].clone()).collect();
    assert_eq!(shown, ["c"], "a free lock is not listed");
    w.check().await;
}

#[tokio::test]
async fn lock_list_pages_miss_none() {
    let w = World::start().await;
    for chunk in 0..4 {
        let jobs = (0..100).map(|n| json!({ "payload": n + chunk * 100, "locks": [format!("lock {n} of {chunk}")] }));
        w.enqueue_many(jobs).await;
        assert_eq!(w.reserve_all(json!({ "limit": 100 })).await.len(), 100);
    }
    for limit in [7, 100] {
        let held = w.pages("/queues/default/locks", "locks", limit).await;
        let mut names: Vec<_> = held.iter().map(|held| held["lock"].to_string()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 400, "{limit} on a page");
    }
    w.check().await;
}

#[tokio::test]
async fn overdue_job_holds_its_lock_until_it_is_expired() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_locked(1, &["site"]).await;
    w.reserve_as("ann").await;
    w.advance_clock(300_001);
    assert_contains(&w.locks().await[0], json!({ "lock": "site", "id": id, "expires_in_ms": 0 }));
    assert_eq!(w.send_enqueue(json!({ "payload": 2, "locks": ["site"] })).await.is(201)["state"], "blocked");
    w.check().await;
    assert_eq!(w.sweep().await["expired"], 1);
    assert_eq!(w.locks().await.len(), 0);
    assert_eq!(w.list_ids("blocked").await.len(), 0, "what waited for it is in line");
    assert_eq!(w.complete_all().await.len(), 2);
    w.check().await;
}
