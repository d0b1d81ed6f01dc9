//! Reserves whose answer is not delivered give their jobs back at once, and those whose answer is delivered keep them.

use std::time::Duration;

use serde_json::json;

use crate::world::{
    World, assert_contains, eventually,
    frame_peer::{CONNECTION_WINDOW, Disconnect, FramePeer, TlsInstance},
    http::Client,
    waiters::MAX_WAIT_MS,
};

/// `remaining` always has three digits, so that all answers are equally long.
const JOBS: usize = 350;
const PEERS: usize = 10;
const RESERVES: usize = 12;
const WIDE: usize = 1 << 20;
const WAYS: [Disconnect; 4] =
    [Disconnect::ResetStreams, Disconnect::GoAway, Disconnect::Close, Disconnect::ResetConnection];

async fn enqueue(client: &Client, many: usize) -> Vec<String> {
    client.enqueue_many((0..many).map(|n| json!({ "payload": format!("{n:04}") }))).await
}

async fn filled() -> (World, TlsInstance, Vec<String>) {
    let w = World::start().await;
    let secured = w.start_tls_instance().await;
    let ids = enqueue(&w, JOBS).await;
    (w, secured, ids)
}

async fn reserved(client: &Client) -> u64 {
    client.queue().await["counts"]["reserved"].as_u64().expect("a number")
}

/// Much sooner than the service cuts a connection that takes nothing, and than a lease ends.
async fn all_come_back(w: &World, case: &str) {
    let back = eventually(case, async || (reserved(w).await == 0).then_some(()));
    tokio::time::timeout(Duration::from_secs(10), back).await.unwrap_or_else(|_| panic!("not at once: {case}"));
}

async fn check_as_if_nothing_had_been(w: &World, ids: &[String]) {
    assert_eq!(w.list_ids("waiting").await, ids[..100], "all at their places");
    for id in [&ids[1], &ids[RESERVES], &ids[PEERS * RESERVES - 1]] {
        let counts = json!({ "handed_out": 0, "abandoned": 0, "expired": 0, "failed": 0 });
        assert_contains(&w.job(id).await, json!({ "state": "waiting", "attempts": 0, "counts": counts }));
    }
    w.check().await;
}

/// Peers that have received only the head and some bytes of each answer.
async fn stuck(secured: &TlsInstance, window: usize) -> Vec<FramePeer> {
    let mut peers = Vec::new();
    for _ in 0..PEERS {
        let mut peer = secured.peer(window).await;
        for _ in 0..RESERVES {
            let stream = peer.reserve(&json!({})).await;
            peer.wait_for_head(stream).await;
            peer.wait_for_bytes(stream, window).await;
        }
        peers.push(peer);
    }
    peers
}

async fn leave(peers: Vec<FramePeer>, how: Disconnect) -> Vec<FramePeer> {
    let mut still_there = Vec::new();
    for peer in peers {
        still_there.extend(peer.disconnect(how).await);
    }
    still_there
}

/// Bytes of an answer with one job. The first job is handed out for it, and given back.
async fn length(w: &World, secured: &TlsInstance) -> usize {
    let mut peer = secured.peer(WIDE).await;
    let stream = peer.reserve(&json!({})).await;
    let text = peer.read_body(stream).await;
    let answer: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let reservation = &answer["jobs"][0]["reservation"];
    w.post("/jobs/abandon", json!({ "reservation": reservation })).await.is(200);
    text.len()
}

#[tokio::test]
async fn answers_without_a_window_give_their_jobs_back() {
    let (w, secured, ids) = filled().await;
    for how in WAYS {
        let peers = stuck(&secured, 0).await;
        assert_eq!(reserved(&w).await, (PEERS * RESERVES) as u64);
        let _still_there = leave(peers, how).await;
        all_come_back(&w, &format!("no window, {how:?}")).await;
    }
    check_as_if_nothing_had_been(&w, &ids).await;
}

#[tokio::test]
async fn answers_sent_in_part_give_their_jobs_back() {
    let (w, secured, ids) = filled().await;
    let length = length(&w, &secured).await;
    for (window, how) in
        [(1, Disconnect::Close), (length / 2, Disconnect::ResetStreams), (length - 1, Disconnect::GoAway)]
    {
        let peers = stuck(&secured, window).await;
        assert_eq!(reserved(&w).await, (PEERS * RESERVES) as u64);
        let _still_there = leave(peers, how).await;
        all_come_back(&w, &format!("{window} of {length} bytes, {how:?}")).await;
    }
    check_as_if_nothing_had_been(&w, &ids).await;
}

#[tokio::test]
async fn answers_next_to_an_unread_one_give_their_jobs_back() {
    let (w, secured, ids) = filled().await;
    w.enqueue_many([json!({ "queue": "big", "payload": "x".repeat(200_000) })]).await;
    for how in WAYS {
        let mut peers = Vec::new();
        for _ in 0..PEERS {
            let mut peer = secured.peer(WIDE).await;
            let big = peer.request("GET", "/queues/big/jobs?state=waiting", "").await;
            peer.wait_for_bytes(big, CONNECTION_WINDOW).await;
            for _ in 0..RESERVES {
                let stream = peer.reserve(&json!({})).await;
                peer.wait_for_head(stream).await;
            }
            peers.push(peer);
        }
        assert_eq!(reserved(&w).await, (PEERS * RESERVES) as u64);
        let _still_there = leave(peers, how).await;
        all_come_back(&w, &format!("the connection's window is used up, {how:?}")).await;
    }
    check_as_if_nothing_had_been(&w, &ids).await;
}

#[tokio::test]
async fn jobs_found_after_a_wait_come_back_undelivered() {
    let w = World::start().await;
    let secured = w.start_tls_instance().await;
    for (window, how) in [(0, Disconnect::Close), (1, Disconnect::ResetStreams)] {
        let (mut peers, mut streams) = (Vec::new(), Vec::new());
        for _ in 0..PEERS {
            let mut peer = secured.peer(window).await;
            for _ in 0..RESERVES {
                streams.push(peer.reserve(&json!({ "wait_ms": MAX_WAIT_MS })).await);
            }
            peers.push(peer);
        }
        let waiting = async || (w.engine.hint_subscribers("default").await == 1).then_some(());
        eventually("they wait", waiting).await;
        let ids = enqueue(&w, PEERS * RESERVES).await;
        for (n, stream) in streams.into_iter().enumerate() {
            peers[n / RESERVES].wait_for_head(stream).await;
        }
        assert_eq!(reserved(&w).await, ids.len() as u64);
        let _still_there = leave(peers, how).await;
        all_come_back(&w, &format!("after a wait, {how:?}")).await;
        assert_eq!(w.list_ids("waiting").await, ids[..100]);
        w.check().await;
        w.delete("/queues/default?state=waiting").await.is(200);
    }
}

/// Next to each delivered answer, one that is not says when the service has seen that its peer is gone.
#[tokio::test]
async fn answers_delivered_in_full_keep_their_jobs() {
    let (w, secured, _) = filled().await;
    let length = length(&w, &secured).await;
    let mut kept = 0;
    for how in WAYS {
        for opened in [0, 1, length] {
            let mut peer = secured.peer(length - opened).await;
            let whole = peer.reserve(&json!({})).await;
            if opened > 0 {
                peer.wait_for_bytes(whole, length - opened).await;
                peer.widen_window(whole, opened).await;
            }
            let text = peer.read_body(whole).await;
            assert_eq!(text.len(), length);
            let in_part = peer.reserve(&json!({ "limit": 3 })).await;
            peer.wait_for_head(in_part).await;
            kept += 1;
            assert_eq!(reserved(&w).await, kept + 3);
            let _still_there = peer.disconnect(how).await;
            eventually("the other's are back", async || (reserved(&w).await <= kept).then_some(())).await;
            assert_eq!(reserved(&w).await, kept, "what was delivered stays, {how:?}");
        }
    }
    w.check().await;
}
