//! Whom a skip concerns, and for how long.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn who_skips_a_job_again_and_again_makes_it_forget_nobody() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    w.skip(&w.reserve_as("ann").await).await;
    for _ in 0..16 {
        w.skip(&w.reserve_by(json!({ "worker": "bob", "id": id })).await).await;
    }
    assert_eq!(w.nothing(json!({ "worker": "ann" })).await, "skipped");
    assert_eq!(w.nothing(json!({ "worker": "bob" })).await, "skipped");
    w.check().await;
}
