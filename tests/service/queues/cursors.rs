//! A page continues only from a cursor that a page has returned.

use crate::world::World;

#[tokio::test]
async fn cursor_with_an_invalid_score_is_refused() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let code = &id[id.len() - 26..];
    for score in ["nan", "-nan", "inf", "-inf", "1e999", "", "x", "0x10"] {
        let cursor: String = format!("{score} {code}").bytes().map(|byte| format!("{byte:02x}")).collect();
        for state in ["waiting", "completed"] {
            let path = format!("/queues/default/jobs?state={state}&after={cursor}");
            let answer = w.get(&path).await;
            assert_eq!(answer.status, 422, "{score:?}: {}", answer.text());
            answer.invalid_by("parameter", &["after"]);
        }
    }
    w.check().await;
}
