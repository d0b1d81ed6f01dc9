//! `intray webhook` prints a line that the webhooks file accepts, with a secret of its own.

use std::fs;

use crate::world::{Exit, Service, program, run};

async fn webhook(args: &[&str]) -> Exit {
    run(program(["webhook"].iter().chain(args))).await
}

#[tokio::test]
async fn printed_lines_are_accepted_by_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut lines = Vec::new();
    for args in [
        &["shop", "https://shop.example/intray?x=y", "reviews*", "completed,dead"][..],
        &["audit", "http://127.0.0.1:9000/x", "*", "all"],
        &["lan", "http://10.0.0.7/x", "reviews", "batch-completed", "--plain"],
    ] {
        let end = webhook(args).await;
        assert!(end.status.success() && end.stderr.contains("webhooks file"), "{end:?}");
        let words: Vec<_> = end.stdout.trim_end().split(' ').collect();
        assert_eq!((&words[..4], end.stdout.lines().count()), (&args[..4], 1), "{end:?}");
        assert!(words[4].starts_with("whsec_") && !end.stderr.contains(words[4]), "{end:?}");
        assert_eq!(words.get(5).copied(), (args.len() == 5).then_some("plain"), "{end:?}");
        lines.push(end.stdout);
    }
    let again = webhook(&["shop", "https://shop.example/intray?x=y", "reviews*", "completed,dead"]).await;
    assert_ne!(again.stdout, lines[0], "each secret is new");
    let file = folder.path().join("webhooks");
    fs::write(&file, lines.concat()).expect("written");
    let data = folder.path().join("data");
    let mut command = program(["serve", "--listen", "127.0.0.1:0"]);
    command.env("INTRAY_WEBHOOKS_FILE", &file).env("INTRAY_DATA_DIR", &data);
    Service::start(command).await;
}

#[tokio::test]
async fn line_that_the_file_would_refuse_is_not_printed() {
    for (args, rule) in [
        (["a b", "https://shop.example/hunter2", "*", "all"], "the name must be"),
        (["shop", "http://shop.example/hunter2", "*", "all"], "the URL may be http://"),
        (["shop", "https://u:hunter2@shop.example/", "*", "all"], "the URL must not name a user"),
        (["shop", "hunter2", "*", "all"], "the URL must begin"),
        (["shop", "https://shop.example/hunter2", "re views", "all"], "the queue pattern must be"),
        (["shop", "https://shop.example/hunter2", "*", "done"], "the types must be"),
    ] {
        let end = webhook(&args).await;
        assert!(!end.status.success() && end.stdout.is_empty(), "{end:?}");
        assert!(end.stderr.contains(rule) && !end.stderr.contains("hunter2"), "{end:?}");
        end.assert_no_repetition();
    }
}
