//! Shared limits: one key reaches each limit, and another key still has room.

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::world::{
    Client, Plan, World,
    access::{SECRET, key, signed},
    eventually,
    waiters::Waiter,
};

fn two_keys() -> Plan {
    let keys =
        [("a", "producer", "a-*"), ("b", "producer", "b-*"), ("pages", "worker", "b-*"), ("crowd", "worker", "a-*")];
    World::plan().with_keys(&keys).flag("--token-secret", SECRET)
}

/// On connections of its own.
fn own(w: &World, name: &str) -> Client {
    Client::new(w.base()).with_credential(&key(name))
}

async fn puts(client: &Client, queue: &str) -> u16 {
    client.send_enqueue(json!({ "queue": queue, "payload": 1, "dedupe": false })).await.status
}

#[tokio::test]
async fn queue_limit_reserves_room_for_other_keys() {
    let w = two_keys().flag("--max-queues", "32").start().await;
    let (a, b) = (own(&w, "a"), own(&w, "b"));
    for n in 0..24 {
        assert_eq!(puts(&a, &format!("a-{n}")).await, 201, "{n}");
    }
    let (_second, other) = w.start_instance().await;
    for client in [&a, &other.with_credential(&key("a"))] {
        let refused = client.send_enqueue(json!({ "queue": "a-more", "payload": 1 })).await.refused("too-many-queues");
        assert!(refused["detail"].as_str().is_some_and(|text| text.contains("--max-queues")), "{refused}");
        assert!(refused["retry_after_ms"].is_u64());
    }
    // Other keys cannot add a queue either, and existing queues still work.
    assert_eq!((puts(&w, "a-more").await, puts(&a, "a-1").await), (429, 201));
    assert_eq!([puts(&b, "b-1").await, puts(&b, "b-2").await, puts(&b, "b-3").await], [201, 201, 429], "a sixteenth");
    w.configure("ops", json!({ "paused": true })).await;
    w.check().await;
}

#[tokio::test]
async fn deleted_queues_free_their_place_in_the_limit() {
    let w = two_keys().flag("--max-queues", "8").start().await;
    let (a, (_second, other)) = (own(&w, "a"), w.start_instance().await);
    for n in 0..6 {
        assert_eq!(puts(&a, &format!("a-{n}")).await, 201);
    }
    w.reserve_with(json!({ "queues": ["a-4"] })).await;
    w.configure("a-5", json!({ "paused": true })).await;
    for (queue, freed) in [("a-0", true), ("a-1", true), ("a-4", false), ("a-5", false)] {
        assert_eq!(puts(&a, "a-new").await, 429, "{queue}");
        w.delete(&format!("/queues/{queue}?state=all")).await.is(200);
        let new = format!("a-instead-of-{queue}");
        assert_eq!(puts(&other.with_credential(&key("a")), &new).await == 201, freed, "{queue}");
    }
    w.delete("/queues/a-4?state=all&force=true").await.is(200);
    assert_eq!(puts(&a, "a-4").await, 201, "it comes back like a new one");
    assert_eq!(puts(&a, "a-new").await, 429);
    assert_eq!(w.get("/queues/a-0").await.is(200)["totals"]["enqueued"], 1, "what was counted is not forgotten");
    w.check().await;
}

#[tokio::test]
async fn connection_limit_reserves_room_for_other_keys() {
    let w = two_keys().flag("--max-connections", "32").start().await;
    let waits = |client: Client, queue: &str| {
        let call = json!({ "queues": [queue], "wait_ms": 20_000 });
        Waiter::send(async move { client.post("/jobs/reserve", call).await })
    };
    // Tokens under one pattern count as one caller, for any number of workers.
    let token = |n: usize| signed(SECRET, json!({ "sub": format!("w{n}"), "queues": ["a-1"] }));
    let caller = |n: usize| {
        if n.is_multiple_of(2) { own(&w, "crowd") } else { Client::new(w.base()).with_credential(&token(n)) }
    };
    let mut crowd: Vec<_> = (0..40).map(|n| waits(caller(n), "a-1")).collect();
    eventually("some are refused", async || {
        (crowd.iter().filter(|waiter| waiter.is_answered()).count() >= 40 - 26).then_some(())
    })
    .await;
    for refused in crowd.extract_if(.., |waiter| waiter.is_answered()) {
        let response: Value = refused.answer().await.0.refused("rate-limited");
        assert!(response["detail"].as_str().is_some_and(|text| text.contains("--max-connections")), "{response}");
        assert!(response["retry_after_ms"].is_u64());
    }
    assert!(crowd.len() >= 20, "{} wait", crowd.len());
    let page = waits(own(&w, "pages"), "b-1");
    let b = own(&w, "b");
    assert_eq!(puts(&b, "b-1").await, 201);
    assert_eq!(page.job().await.body["queue"], "b-1");
    // Some late callers are refused; no waiting call is cut.
    for refused in crowd.extract_if(.., |waiter| waiter.is_answered()) {
        refused.answer().await.0.refused("rate-limited");
    }
    assert!(crowd.len() >= 20, "{} wait", crowd.len());
    w.check().await;
}

/// The largest body but for its last byte.
async fn upload(w: &World, path: &str, credential: &str) -> TcpStream {
    let size = 8 << 20;
    let mut stream = TcpStream::connect(w.address()).await.expect("the service listens");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer {credential}\r\ncontent-length: {size}\r\n\r\n",
    );
    let request = [head.into_bytes(), vec![b' '; size - 1]].concat();
    drop(stream.write_all(&request).await);
    stream
}

#[tokio::test]
async fn body_memory_limit_reserves_room_for_other_keys() {
    let w = two_keys().start().await;
    let (a, b) = (own(&w, "a"), own(&w, "b"));
    let mut uploads = Vec::new();
    for _ in 0..12 {
        uploads.push(upload(&w, "/jobs", &key("a")).await);
    }
    let large = |queue: &str, n: u32| json!({ "queue": queue, "payload": format!("{n}{}", "x".repeat(40_000)) });
    let mut n = 0;
    eventually("all that one may have is in hand", async || {
        n += 1;
        let answer = a.send_enqueue(large("a-1", n)).await;
        if answer.status == 503 {
            assert!(answer.text().contains("128 MiB"), "{}", answer.text());
            return Some(());
        }
        // One that came while the call before was in hand may have found no room for its last bytes.
        for one in &mut uploads {
            if one.try_read(&mut [0; 1]).is_ok() {
                *one = upload(&w, "/jobs", &key("a")).await;
            }
        }
        None
    })
    .await;
    // Tokens under one pattern count as one small caller, for any number of workers.
    let mut crowd = Vec::new();
    for n in 0..6 {
        crowd.push(
            upload(&w, "/jobs/reserve", &signed(SECRET, json!({ "sub": n.to_string(), "queues": ["a-1"] }))).await,
        );
    }
    eventually("all tokens but one are refused", async || {
        crowd.retain(|one| {
            let mut status = [0; 12];
            one.try_read(&mut status).is_err() || !status.ends_with(b"503")
        });
        (crowd.len() <= 1).then_some(())
    })
    .await;
    assert_eq!(b.send_enqueue(large("b-1", 0)).await.status, 201);
    drop((uploads, crowd));
    eventually("what is given back is there again", async || {
        n += 1;
        (a.send_enqueue(large("a-1", n)).await.status == 201).then_some(())
    })
    .await;
    w.check().await;
}

#[tokio::test]
async fn rate_limit_applies_per_key() {
    let keys = [("a", "producer", "*"), ("b", "producer", "*")];
    let w = World::plan().with_keys(&keys).flag("--rate-limit", "3").start().await;
    let (a, b) = (w.with_credential(&key("a")), w.with_credential(&key("b")));
    let refusal = eventually("the rate limit applies", async || {
        let answer = a.get("/jobs/default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ").await;
        (answer.status != 404).then_some(answer)
    })
    .await;
    assert_eq!(refusal.status, 429, "{}", refusal.text());
    let wait = refusal.refused("rate-limited")["retry_after_ms"].as_u64().expect("a time");
    assert!((1..=334).contains(&wait) && refusal.header("retry-after") == Some("1"), "{wait}");
    b.get("/jobs/default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ").await.refused("unknown-job");
    tokio::time::sleep(std::time::Duration::from_millis(wait + 20)).await;
    a.get("/jobs/default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ").await.refused("unknown-job");
}
