//! `intray import` and `intray export` continue after failures and report refusals.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::world::{Exit, World, access::key, program, run};

pub fn calling(w: &World, words: &[&str]) -> Command {
    let mut command = program(words);
    command.args(["--url", w.base()]).current_dir(w.folder());
    command
}

pub async fn imported(w: &World, words: &[&str]) -> Exit {
    run(calling(w, &[&["import"], words].concat())).await
}

pub async fn exported(w: &World, words: &[&str]) -> String {
    let end = run(calling(w, &[&["export"], words].concat())).await;
    assert!(end.status.success(), "{end:?}");
    end.stdout
}

#[tokio::test]
async fn repeated_import_adds_only_new_lines() {
    let w = World::start().await;
    let file = w.folder().join("jobs");
    let line = |n: u64| format!("{{\"payload\":{n}}}\n");
    let lines: String = (1..=50).map(line).collect();
    fs::write(&file, &lines).expect("written");
    for counts in ["50 new, 0 known", "0 new, 50 known"] {
        let end = imported(&w, &["jobs"]).await;
        assert!(end.status.success(), "{end:?}");
        assert_eq!(end.stdout, format!("50 lines: {counts}; 0 equal to one that is there; 0 refused\n"));
        assert_eq!(end.stderr, "", "no progress bar without a terminal");
    }
    // In another queue with another key; a line that names a queue stays there.
    fs::write(&file, format!("{lines}\nnonsense\n{{\"queue\":\"own\",\"payload\":1}}\n{{}}")).expect("written");
    let end = imported(&w, &["jobs", "--queue", "other", "--idempotency-key", "k"]).await;
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    assert_eq!(end.stdout, "54 lines: 51 new, 0 known; 0 equal to one that is there; 2 refused\n");
    let refused: Vec<_> = end.stderr.lines().map(|line| line.split(':').next().unwrap_or_default()).collect();
    assert_eq!(refused, ["line 52", "line 54"], "{}", end.stderr);
    let counts = async |queue: &str| w.get(&format!("/queues/{queue}")).await.is(200)["counts"]["waiting"].clone();
    assert_eq!([counts("default").await, counts("other").await, counts("own").await], [50, 50, 1].map(Value::from));
    fs::write(&file, format!("{lines}{}", line(51))).expect("written");
    assert!(imported(&w, &["jobs"]).await.status.success());
    assert_eq!(counts("default").await, 51);
    // Payloads are text of any kind.
    fs::write(&file, "\"a\"\n[1]\n").expect("written");
    assert!(imported(&w, &["jobs", "--payloads", "--queue", "own"]).await.status.success());
    assert_eq!(counts("own").await, 3);
    w.check().await;
}

#[tokio::test]
async fn import_survives_a_redis_outage() {
    let w = World::plan().with_default_redis_timeout().start().await;
    let lines: String = (1..=2_000).map(|n| format!("{{\"payload\":{n}}}\n")).collect();
    fs::write(w.folder().join("jobs"), lines).expect("written");
    w.engine.freeze();
    let away = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        w.engine.thaw();
    };
    let (end, ()) = tokio::join!(imported(&w, &["jobs"]), away);
    assert!(end.status.success(), "{end:?}");
    assert_eq!(w.queue().await["totals"]["enqueued"], 2_000);
    w.check().await;
}

#[tokio::test]
async fn export_writes_lines_or_csv() {
    let w = World::start().await;
    w.enqueue_many((0..150).map(|n| json!({ "payload": { "n": n }, "client": "a b" }))).await;
    let lines = exported(&w, &["default", "--state", "waiting", "--client", "a b"]).await;
    let numbers = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["payload"]["n"].clone());
    assert!(numbers.eq((0..150).map(Value::from)), "{lines}");
    exported(&w, &["default", "--state", "waiting", "--csv", "--columns", "state,/payload/n", "--output", "t"]).await;
    let table = fs::read_to_string(w.folder().join("t")).expect("a table");
    assert!(table.starts_with("state,/payload/n\r\nwaiting,0\r\nwaiting,1\r\n"), "{table}");
    assert_eq!(table.lines().count(), 151);
    let held = w.reserve().await;
    w.complete(&held).await.is(200);
    let line: Value = serde_json::from_str(&exported(&w, &["default"]).await).expect("one line");
    assert_eq!(line["id"], held.id);
    let after = line["next"].as_str().expect("a next");
    assert_eq!(exported(&w, &["default", "--after", after]).await, "");
    w.check().await;
}

#[tokio::test]
async fn key_is_read_from_file_or_environment_and_never_shown() {
    let w = World::plan().with_keys(&[("web", "producer", "default")]).start().await;
    fs::write(w.folder().join("jobs"), "{\"payload\":1}\n").expect("written");
    fs::write(w.folder().join("web"), format!("{}\n", key("web"))).expect("written");
    let end = imported(&w, &["jobs", "--key-file", "web"]).await;
    assert!(end.status.success(), "{end:?}");
    let mut command = calling(&w, &["export", "default"]);
    command.env("INTRAY_KEY", key("web"));
    let end = run(command).await;
    assert!(end.status.success() && end.stderr.is_empty(), "{end:?}");
    for (words, code, why) in [
        (
            &["import", "jobs"][..],
            1,
            "stopped before the first line: send a key or a token as Authorization: Bearer (--key-file",
        ),
        (&["import", "none", "--key-file", "web"], 1, "none: No such file"),
        (&["import", "jobs", "--key-file", "none"], 2, "none: No such file"),
        (&["export", "default", "--state", "dead", "--key-file", "web"], 1, "a producer or an asker reads the results"),
        (&["export", "other", "--key-file", "web"], 1, "this is not for the queue other"),
    ] {
        let end = run(calling(&w, words)).await;
        assert_eq!(end.status.code(), Some(code), "{words:?}: {end:?}");
        assert!(end.stderr.contains(why) && !end.stderr.contains(&key("web")), "{words:?}: {end:?}");
    }
    let unknown = run(program(["export", "default", "--url", "ftp://x"])).await;
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}
