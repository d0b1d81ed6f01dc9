//! A service that is told to end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Fault, World, eventually};

#[tokio::test]
async fn a_service_told_to_end_answers_what_is_in_hand_and_ends_well() {
    let mut w = World::plan().behind_a_proxy().start().await;
    let id = w.enqueue(1).await;
    w.proxy().now(Fault::Freeze);
    let in_hand = tokio::spawn({
        let client = (*w).clone();
        async move { client.reserve_as("ann").await }
    });
    eventually("the call is on its way", async || w.proxy().withholds().then_some(())).await;
    w.service.signal(libc::SIGTERM);
    tokio::time::sleep(Duration::from_millis(200)).await;
    w.proxy().now(Fault::None);
    assert_eq!(in_hand.await.expect("answered").id, id);
    assert!(w.service.ended().await.success());
    assert!(w.request("GET", "/livez").attempt().await.is_none(), "nobody listens any more");
    w.restart().await;
    w.check().await;
}

#[tokio::test]
async fn readiness_goes_before_the_service_does() {
    let mut w = World::start().await;
    assert_eq!(w.get("/readyz").await.status, 200);
    w.service.signal(libc::SIGTERM);
    eventually("it says that it is leaving, or has left", async || match w.request("GET", "/readyz").attempt().await {
        Some(answer) => (answer.status == 503).then_some(()),
        None => Some(()),
    })
    .await;
    assert!(w.service.ended().await.success());
    let said: Value = json!(w.service.said());
    assert!(said.as_str().expect("text").contains("intray is ready on http://"));
}
