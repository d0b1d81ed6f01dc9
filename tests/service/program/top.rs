//! `intray top` in a terminal, which it restores, and as a table without one.

use std::{fs, net::TcpListener, path::PathBuf, process::Command};

use serde_json::json;

use crate::{
    webhooks::line,
    world::{
        Exit, World, access, eventually, program,
        receiver::{Reaction, Receiver},
        run,
        terminal::Terminal,
    },
};

/// `intray top` with an operator's key from a file.
fn top(w: &World, more: &[&str]) -> Command {
    let key: PathBuf = w.folder().join("operator.key");
    fs::write(&key, access::key("root")).expect("a file");
    let mut command = program(["top", "--interval", "0.1", "--url", w.base()].iter().chain(more));
    command.arg("--key-file").arg(key);
    command
}

/// Two queues: jobs wait in one, and Ann holds a job of the other.
async fn desks() -> World {
    let w = World::plan().own_process().with_keys(&[]).start().await;
    w.enqueue_many((0..3).map(|n| json!({ "queue": "reviews", "payload": n }))).await;
    w.enqueue_with(json!({ "queue": "moderation", "payload": 1 })).await;
    w.advance_clock(61_000);
    w.reserve_with(json!({ "queues": ["moderation"], "worker": "ann" })).await;
    w
}

#[track_caller]
fn refused(end: &Exit, words: &[&str]) {
    assert!(!end.status.success() && end.stdout.is_empty(), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "one clear line: {end:?}");
    end.assert_no_repetition();
    assert!(words.iter().all(|word| end.stderr.contains(word)), "{words:?}: {end:?}");
}

/// A screen is drawn piece by piece: a story waits for all that it names.
fn has_in_order<const N: usize>(text: &str, words: [&str; N]) -> bool {
    let find_after = |from: usize, word: &&str| text[from..].find(word).map(|at| from + at);
    words.iter().try_fold(0, find_after).is_some()
}

#[tokio::test]
async fn top_names_webhooks_that_do_not_deliver() {
    let receiver = Receiver::start().await;
    let lines = [line("shop", &receiver, "*", "enqueued"), line("audit", &receiver, "none", "all")];
    let w = World::plan().with_webhooks(lines).start().await;
    let printed = async || run(program(["top", "--url", w.base()])).await.stdout;
    w.enqueue("x").await;
    receiver.wait_for(1).await;
    assert!(!printed().await.contains("webhook"));
    receiver.react(|_| Reaction::Status(410));
    w.enqueue("y").await;
    let is_named = async || printed().await.contains("waiting: 2, held: 0; webhook shop is gone: 1 waiting, 0 failed");
    eventually("it is named", async || is_named().await.then_some(())).await;
}

#[tokio::test]
async fn top_without_a_terminal_prints_one_table() {
    let w = desks().await;
    let printed = run(top(&w, &[])).await;
    assert!(printed.status.success() && printed.stderr.is_empty(), "{printed:?}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = printed.stdout.lines().map(words).collect();
    assert_eq!(lines[0][..5], ["QUEUE", "WAITING", "OLDEST", "HELD", "OVERDUE"], "{printed:?}");
    assert_eq!(lines[1][..2], ["reviews", "3"], "the oldest wait first");
    assert!(lines[1][2].starts_with("1m"), "{printed:?}");
    assert_eq!(lines[1][3..], ["0", "0", "0.0", "0.0", "0.0", "0", "0", "0"]);
    assert_eq!(lines[2], ["moderation", "0", "-", "1", "0", "0.0", "0.0", "0.0", "0", "0", "0"]);
    assert_eq!(lines[3].join(" "), "queues: 2; waiting: 3, held: 1");

    let mut by_variable = program(["top", "--once", "--queue", "moderation", "--url", w.base()]);
    by_variable.env("INTRAY_KEY", access::key("root"));
    let holders = run(by_variable).await;
    let lines: Vec<_> = holders.stdout.lines().map(words).collect();
    assert_eq!(lines[0], ["WORKER", "JOBS", "SINCE", "LEFT", "RESUMED"], "{holders:?}");
    assert_eq!((lines[1][0].as_str(), lines[1][1].as_str()), ("ann", "1"), "{holders:?}");
    w.check().await;
}

#[tokio::test]
async fn top_without_access_or_service_fails_with_one_line() {
    let w = World::plan().with_keys(&[("maker", "producer", "*")]).start().await;
    let nobodys = ["top", "--once", "--url", w.base()];
    refused(&run(program(nobodys)).await, &["answered 401"]);
    let mut makers = program(nobodys);
    makers.env("INTRAY_KEY", access::key("maker"));
    let end = run(makers).await;
    refused(&end, &["answered 403"]);
    assert!(!end.stderr.contains("key-of-"), "{end:?}");
    refused(&run(top(&w, &["--queue", "nowhere"])).await, &["answered 404"]);
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let nowhere = format!("http://{free}");
    refused(&run(program(["top", "--once", "--url", &nowhere])).await, &["no answer from", &nowhere]);
    w.check().await;
}

#[tokio::test]
async fn top_shows_queues_and_holders_and_updates() {
    let w = desks().await;
    let mut terminal = Terminal::start(top(&w, &[]), 80, 12);
    terminal.wait_for_text("queues: 2; waiting: 3, held: 1").await;
    terminal.wait_until("the oldest wait first", |text| has_in_order(text, ["reviews", "moderation"])).await;
    terminal.press("n");
    terminal.wait_until("by name", |text| has_in_order(text, ["moderation", "reviews"])).await;
    w.enqueue_with(json!({ "queue": "added", "payload": 1 })).await;
    terminal.wait_for_text("queues: 3; waiting: 4, held: 1").await;
    // The selection stays on its queue, which was the first and is now the second.
    terminal.press("\u{1b}[B");
    terminal.press("\r");
    terminal.wait_until("its holders", |text| has_in_order(text, ["moderation;", "workers: 1, jobs: 1", "ann"])).await;
    terminal.press("\u{1b}");
    terminal.wait_for_text("queues: 3").await;
    terminal.resize(40, 6);
    let fits = |text: &str| text.lines().count() <= 6 && text.lines().all(|line| line.chars().count() <= 40);
    let is_whole = |text: &str| has_in_order(text, ["QUEUE", "[r]everse"]) && !text.contains("OUT/s");
    terminal.wait_until("all of it", |text| fits(text) && is_whole(text)).await;
    terminal.press("q");
    assert!(terminal.wait_for_exit().await.success());
    w.check().await;
}

#[tokio::test]
async fn top_names_an_unreachable_service_and_reconnects() {
    let mut w = desks().await;
    let address = w.base().trim_start_matches("http://").to_owned();
    w.set_flag("--listen", &address);
    let mut terminal = Terminal::start(top(&w, &[]), 120, 12);
    terminal.wait_for_text("queues: 2").await;
    w.service.kill();
    let words = ["no answer from", "it is asked again", "reviews"];
    terminal.wait_until("the last view below the message", |text| has_in_order(text, words)).await;
    w.restart().await;
    terminal.wait_until("all is well", |text| !text.contains("it is asked again")).await;
    terminal.press("q");
    assert!(terminal.wait_for_exit().await.success());
    w.check().await;
}

#[tokio::test]
async fn top_restores_the_terminal_however_it_ends() {
    let w = desks().await;
    for by in ["q", "\u{3}", "SIGTERM"] {
        let mut terminal = Terminal::start(top(&w, &[]), 80, 12);
        terminal.wait_for_text("queues: 2").await;
        assert!(!terminal.is_restored(), "{by}: it uses the whole terminal");
        match by {
            "SIGTERM" => terminal.signal(libc::SIGTERM),
            key => terminal.press(key),
        }
        assert!(terminal.wait_for_exit().await.success(), "{by}");
        terminal.wait_until("nothing", |text| text.trim().is_empty()).await;
        eventually(by, async || terminal.is_restored().then_some(())).await;
    }
    w.check().await;
}
