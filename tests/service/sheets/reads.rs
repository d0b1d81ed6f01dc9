//! Who reads which lines, as JSON and as CSV.

use serde_json::{Value, json};

use super::lines::lines;
use crate::world::{
    Client, World,
    access::{SECRET, key, signed},
};

const DAY: u64 = 86_400_000;
const CSV_HEAD: &str =
    "day,worker,handed_out,completed,late,skipped,abandoned,expired,failed,undone,handed_over,held_ms,p50_ms,p90_ms";

async fn work(w: &Client, worker: &str) {
    w.enqueue_with(json!({ "payload": 1, "dedupe": false })).await;
    let held = w.reserve_as(worker).await;
    w.complete(&held).await.is(200);
}

#[tokio::test]
async fn token_reads_its_own_lines_and_no_others() {
    let keys = [("web", "viewer", "*"), ("bot", "worker", "*"), ("shop", "producer", "*")];
    let w = World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    w.update_settings(json!({ "sheets": true })).await;
    for worker in ["ann", "bob"] {
        work(&w, worker).await;
    }
    let names = |lines: Vec<Value>| -> Vec<String> {
        lines.iter().map(|line| line["worker"].as_str().expect("a name").to_owned()).collect()
    };
    let path = "/queues/default/sheets";
    let ann = w.with_credential(&signed(SECRET, json!({ "sub": "ann", "queues": ["default"] })));
    assert_eq!(names(lines(&ann, "").await), ["ann"]);
    assert_eq!(names(lines(&ann, "?worker=ann").await), ["ann"]);
    ann.get(&format!("{path}?worker=bob")).await.refused("forbidden");
    ann.delete("/workers/ann").await.refused("forbidden");
    let [web, bot, shop] = ["web", "bot", "shop"].map(|name| w.with_credential(&key(name)));
    assert_eq!(names(lines(&web, "").await), ["ann", "bob"]);
    assert_eq!(names(lines(&web, "?worker=bob").await), ["bob"]);
    assert_eq!(names(lines(&bot, "?worker=bob").await), ["bob"]);
    bot.get(path).await.refused("forbidden");
    shop.get(path).await.refused("forbidden");
    w.check().await;
}

#[tokio::test]
async fn range_selects_days_and_has_limits() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "sheets": true, "sheets_days": 400 })).await;
    for _ in 0..4 {
        work(&w, "ann").await;
        w.advance_clock(DAY);
    }
    let all = w.get("/queues/default/sheets").await.is(200);
    let days: Vec<_> =
        all["lines"].as_array().expect("lines").iter().map(|line| line["day"].as_str().expect("a day")).collect();
    assert_eq!(days.len(), 4);
    let count = async |query: String| lines(&w, &query).await.len();
    assert_eq!(count(format!("?from={}&to={}", days[1], days[2])).await, 2);
    assert_eq!(count(format!("?from={}", days[3])).await, 1);
    assert_eq!(count(format!("?to={}", days[0])).await, 1);
    assert_eq!(count(format!("?from={}&to={}&worker=bob", days[0], days[3])).await, 0);
    assert_eq!(count("?from=2999-01-01".to_owned()).await, 0);
    assert_eq!(count("?to=1999-01-01".to_owned()).await, 0);
    assert_eq!(all["to"], w.get(&format!("/queues/default/sheets?from={}", days[0])).await.is(200)["to"]);
    for (query, parameter) in [
        ("?from=2026-02-30", "from"),
        ("?to=yesterday", "to"),
        ("?from=2026-03-02&to=2026-03-01", "from"),
        ("?from=2026-01-01&to=2027-02-05", "from"),
        ("?from=2020-01-01", "from"),
        ("?worker=", "worker"),
        ("?day=2026-01-01", "day"),
    ] {
        let refused = w.get(&format!("/queues/default/sheets{query}")).await;
        assert_eq!(refused.status, 422, "{query}: {}", refused.text());
        assert_eq!(refused.json()["errors"][0]["parameter"], parameter, "{query}");
    }
    assert_eq!(count("?from=2026-01-01&to=2027-02-04".to_owned()).await, count(String::new()).await);
    w.get("/queues/nowhere/sheets").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn lines_are_a_table_for_who_accepts_csv() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "sheets": true })).await;
    let table = async || {
        let answer = w.request("GET", "/queues/default/sheets").header("accept", "text/csv").send().await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/csv; charset=utf-8")));
        answer.text().to_owned()
    };
    assert_eq!(table().await, format!("{CSV_HEAD}\r\n"));
    for worker in ["ann, of course", "=1+1"] {
        work(&w, worker).await;
    }
    w.enqueue(2).await;
    w.fail(&w.reserve_as("zoe").await).await.is(200);
    let text = table().await;
    let rows: Vec<_> = text.lines().collect();
    let day = lines(&w, "").await[0]["day"].as_str().expect("a day").to_owned();
    assert_eq!(rows[0], CSV_HEAD);
    assert_eq!(rows[1], format!("{day},\"'=1+1\",1,1,0,0,0,0,0,0,0,0,500,500"));
    assert_eq!(rows[2], format!("{day},\"ann, of course\",1,1,0,0,0,0,0,0,0,0,500,500"));
    assert_eq!(rows[3], format!("{day},zoe,1,0,0,0,0,0,1,0,0,0,,"));
    w.check().await;
}
