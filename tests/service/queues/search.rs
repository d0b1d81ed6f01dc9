//! Text search in payloads and errors, page by page, with bounded work per call.

use serde_json::{Value, json};

use crate::world::{Answer, World, percent_encode};

async fn list(w: &World, query: &str) -> Answer {
    w.get(&format!("/queues/default/jobs?{query}")).await
}

fn payloads(page: &Value) -> Vec<Value> {
    page["jobs"].as_array().expect("jobs").iter().map(|job| job["payload"]["n"].clone()).collect()
}

#[tokio::test]
async fn search_finds_text_in_large_payloads_and_errors() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 1 })).await;
    let job = |n: u64, text: String| json!({ "payload": { "n": n, "text": text } });
    let large = format!("{}needle", "x".repeat(5_000));
    w.enqueue_many([job(1, "a needle".into()), job(2, "hay".into()), job(3, large), job(4, "NEEDLE".into())]).await;
    let page = list(&w, "search=needle").await.is(200);
    assert_eq!((payloads(&page), &page["next"], &page["looked"]), (vec![json!(1), json!(3)], &Value::Null, &json!(4)));
    assert_eq!(payloads(&list(&w, "search=%22n%22:2,").await.is(200)), [json!(2)], "the payload is searched as sent");
    assert_eq!(payloads(&list(&w, "search=needle&limit=1").await.is(200)), [json!(1)]);
    w.fail_with(&w.reserve().await, "socket closed").await.is(200);
    assert_eq!(payloads(&list(&w, "state=dead&search=socket").await.is(200)), [json!(1)]);
    assert_eq!(payloads(&list(&w, "state=dead&search=a%20needle&error=socket").await.is(200)), [json!(1)]);
    assert_eq!(payloads(&list(&w, "state=dead&search=needle&error=timeout").await.is(200)), [] as [Value; 0]);
    w.delete(&format!("/jobs/{}", page["jobs"][1]["id"].as_str().expect("an id"))).await.is(200);
    assert_eq!(payloads(&list(&w, "state=cancelled&search=needle").await.is(200)), [json!(3)], "it keeps its payload");
    list(&w, "search=").await.invalid_by("parameter", &["search"]);
    list(&w, &format!("search={}", "x".repeat(129))).await.invalid_by("parameter", &["search"]);
    list(&w, &format!("search={}", "x".repeat(128))).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn search_reads_1000_jobs_per_call_and_returns_a_cursor() {
    let w = World::start().await;
    w.enqueue_many((0..1_000).map(|n| json!({ "payload": { "n": n } }))).await;
    w.enqueue_many((1_000..1_500).map(|n| json!({ "payload": { "n": n, "is": "last" } }))).await;
    let first = list(&w, "search=last").await.is(200);
    assert_eq!((payloads(&first), &first["looked"]), (vec![], &json!(1_000)), "at most 1,000 jobs per call");
    let next = first["next"].as_str().expect("a cursor");
    let second = list(&w, &format!("search=last&limit=3&after={next}")).await.is(200);
    assert_eq!(payloads(&second), [1_000, 1_001, 1_002].map(|n| json!(n)));
    w.check().await;
}

#[tokio::test]
async fn search_of_large_payloads_uses_small_scripts() {
    let w = World::start().await;
    let text = "x".repeat(60_000);
    let job = |n| json!({ "payload": { "n": n, "text": text, "is": if n == 39 { "last" } else { "" } } });
    for part in 0..4 {
        w.enqueue_many((part * 10..part * 10 + 10).map(job)).await;
    }
    let mut meter = w.meter().await;
    let (mut found, mut after, mut scripts) = (Vec::new(), String::new(), 0);
    loop {
        let page = list(&w, &format!("search=%22last%22{after}")).await.is(200);
        scripts += meter.assert_bounded("a look into large payloads", &w.engine).await.len();
        found.extend(payloads(&page));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found, [json!(39)]);
    assert!(scripts >= 2_400_000 / (524_288 + 60_100), "half a MiB per script: {scripts} scripts for 2.4 MB");
    w.check().await;
}

/// A text as a producer may write it in JSON: some characters as escapes, with capital or small digits.
fn spellings(text: &str) -> Vec<String> {
    let escaped = |digits: fn(u16) -> String, which: fn(char) -> bool| {
        let spell = |char: char| match which(char) {
            true => char.encode_utf16(&mut [0; 2]).iter().map(|unit| digits(*unit)).collect(),
            false => char.to_string(),
        };
        text.chars().map(spell).collect::<String>()
    };
    let small = |unit: u16| format!("\\u{unit:04x}");
    let capital = |unit: u16| format!("\\u{unit:04X}");
    let quoted = serde_json::to_string(text).expect("JSON");
    let plain = quoted[1..quoted.len() - 1].to_owned();
    vec![
        plain.clone(),
        plain.replace('/', "\\/"),
        escaped(small, |_| true),
        escaped(capital, |_| true),
        escaped(capital, |char| !char.is_ascii() || "\"\\/\n\t".contains(char)),
    ]
}

#[tokio::test]
async fn search_matches_every_json_spelling_of_a_text() {
    let w = World::start().await;
    for (n, text) in
        ["Jürgen", "say \"hi\"", "a/b", "tab\there", "two\nlines", "C:\\new\\u00fc", "日本語", "😀 party", "é"]
            .into_iter()
            .enumerate()
    {
        let queue = format!("q{n}");
        let long = "x".repeat(3_000);
        for (m, spelling) in spellings(text).into_iter().enumerate() {
            let pad = if m % 2 == 0 { "" } else { &long };
            let body = format!(
                "{{\"queue\":\"{queue}\",\"dedupe\":false,\"payload\":[\"before {spelling} after\",\"{pad}\"]}}"
            );
            w.post_text("/jobs", body).await.is(201);
        }
        let page = w.get(&format!("/queues/{queue}/jobs?search={}", percent_encode(text))).await.is(200);
        assert_eq!(page["jobs"].as_array().map(Vec::len), Some(5), "{text}");
        let half =
            w.get(&format!("/queues/{queue}/jobs?search={}", percent_encode(&format!("e {text} a")))).await.is(200);
        assert_eq!(half["jobs"].as_array().map(Vec::len), Some(5), "{text}, with its surroundings");
    }
    w.check().await;
}

/// An escaped backslash starts no escape, half a surrogate pair is no character, and text is found as it was sent.
#[tokio::test]
async fn search_does_not_decode_escaped_backslashes() {
    let w = World::start().await;
    for payload in [r#""a\\u00fc""#, r#""half \ud83d end""#, r#""\\\u00e9""#] {
        w.post_text("/jobs", format!("{{\"payload\":{payload}}}")).await.is(201);
    }
    let found = async |text: &str| {
        let page = w.get(&format!("/queues/default/jobs?search={}", percent_encode(text))).await.is(200);
        page["jobs"].as_array().expect("jobs").len()
    };
    for (text, count) in
        [("ü", 0), ("a\\u00fc", 1), (r"\\u00fc", 1), ("\\é", 1), ("half", 1), (" end", 1), (r"\ud83d", 1), ("x", 0)]
    {
        assert_eq!(found(text).await, count, "{text}");
    }
    w.check().await;
}

#[tokio::test]
async fn search_of_many_escapes_uses_small_scripts() {
    let w = World::start().await;
    let text = r"\u00fc".repeat(20_000);
    for n in 0..6 {
        let body = format!("{{\"payload\":[{n},\"{text}\",\"{}\"]}}", if n == 5 { r"\u006cast" } else { "tsal" });
        w.post_text("/jobs", body).await.is(201);
    }
    let mut meter = w.meter().await;
    let (mut found, mut after, mut scripts) = (0, String::new(), 0);
    loop {
        let page = list(&w, &format!("search=last{after}")).await.is(200);
        scripts += meter.assert_bounded("a look into escapes", &w.engine).await.len();
        found += page["jobs"].as_array().map_or(0, Vec::len);
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found, 1);
    assert!(scripts >= 6, "one long payload per script: {scripts}");
    w.check().await;
}
