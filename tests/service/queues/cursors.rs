//! Where a page goes on: only from where a page has ended.

use crate::world::World;

#[tokio::test]
async fn a_page_goes_on_from_no_place_that_no_page_has() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let code = &id[id.len() - 26..];
    for place in ["nan", "-nan", "inf", "-inf", "1e999", "", "x", "0x10"] {
        let cursor: String = format!("{place} {code}").bytes().map(|byte| format!("{byte:02x}")).collect();
        for state in ["waiting", "completed"] {
            let path = format!("/queues/default/jobs?state={state}&after={cursor}");
            let answer = w.get(&path).await;
            assert_eq!(answer.status, 422, "{place:?}: {}", answer.text());
            answer.invalid_by("parameter", &["after"]);
        }
    }
    w.check().await;
}
