//! Warnings at the start: each once, and without secrets.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use crate::world::{Client, Engine, Service, access, eventually, program, run};

fn serve(data: &Path) -> Command {
    program(["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("UTF-8")])
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
}

/// The number of lines with these words.
fn lines(log: &str, words: &str) -> usize {
    log.lines().filter(|line| line.contains(words)).count()
}

#[tokio::test]
async fn unknown_variable_is_named_with_a_suggestion() {
    let folder = tempfile::tempdir().expect("a folder");
    let strange = [
        ("INTRAY_REPLICATION", "synced-secret"),
        ("INTRAY_TOKEN_SECRETS", "secret"),
        ("REDIS_URL_FILES", "secret"),
        ("INTRAY_PORT", "8080-secret"),
    ];
    // Kubernetes sets these for a service of that name.
    let ordinary = [
        ("INTRAY_SERVICE_HOST", "10.0.0.1"),
        ("INTRAY_SERVICE_PORT", "7070"),
        ("INTRAY_SERVICE_PORT_HTTP", "7070"),
        ("INTRAY_WEB_PORT", "tcp://10.0.0.1:7070"),
        ("INTRAY_PORT_7070_TCP_ADDR", "10.0.0.1"),
        ("INTRAY_SETTING", ""),
        ("INTRAY_PREFIX", "mine"),
    ];
    let mut command = serve(folder.path());
    command.envs(strange).envs(ordinary);
    let log = Service::start(command).await.output();
    for (name, _) in strange {
        assert_eq!(lines(&log, &format!("{name} is not")), 1, "{log}");
    }
    for (name, _) in ordinary {
        assert_eq!(lines(&log, name), 0, "{log}");
    }
    assert_eq!(lines(&log, "INTRAY_TOKEN_SECRET?"), 1, "{log}");
    assert_eq!(lines(&log, "REDIS_URL_FILE?"), 1, "{log}");
    assert!(!log.contains("secret"), "{log}");

    let mut command = program(["check", "--redis-url", "redis://127.0.0.1:1"]);
    command.env("INTRAY_REPLICATION", "synced");
    let end = run(command).await;
    assert_eq!(lines(&end.stderr, "INTRAY_REPLICATION is not"), 1, "{end:?}");
}

#[tokio::test]
async fn invalid_log_levels_are_named() {
    for (levels, odd) in [
        ("loud", Some("`loud`")),
        ("info,verbose", Some("`verbose`")),
        ("intray=loud", Some("`intray=loud`")),
        ("intry=debug", Some("`intry=debug`")),
        ("intray[span]=debug", Some("`intray[span]=debug`")),
        ("warn", None),
        ("debug,hyper=info", None),
        ("intray::queue=trace", None),
        ("", None),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = serve(folder.path());
        command.env("RUST_LOG", levels);
        let service = Service::start(command).await;
        let log = service.output();
        assert_eq!(lines(&log, "RUST_LOG"), usize::from(odd.is_some()), "{levels}: {log}");
        if let Some(odd) = odd {
            assert_eq!(lines(&log, odd), 1, "{levels}: {log}");
            assert!(log.contains("INFO"), "an invalid level is ignored: {log}");
        }
    }
}

#[tokio::test]
async fn world_readable_secrets_cause_one_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let [keys, secrets, url] = ["keys", "secrets", "url"].map(|name| folder.path().join(name));
    fs::write(&keys, access::keys_file_line("root", "operator", "*")).expect("written");
    fs::write(&secrets, access::SECRET).expect("written");
    fs::write(&url, format!("unix://{}", engine.socket().display())).expect("written");
    let serve = || {
        let mut command = program(["serve", "--listen", "127.0.0.1:0"]);
        command.env("INTRAY_KEYS_FILE", &keys).env("INTRAY_TOKEN_SECRET_FILE", &secrets).env("REDIS_URL_FILE", &url);
        command
    };
    for (mode, warnings) in [(0o644, 1), (0o640, 0), (0o600, 0)] {
        for file in [&keys, &secrets, &url] {
            set_mode(file, mode);
        }
        let log = Service::start(serve()).await.output();
        assert_eq!(lines(&log, "can be read by all users"), warnings, "{mode:o}: {log}");
        for file in [&keys, &secrets, &url] {
            assert_eq!(lines(&log, file.to_str().expect("UTF-8")), warnings, "{mode:o}: {log}");
        }
    }
}

#[tokio::test]
async fn writable_data_folder_is_warned_of_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("made");
    fs::write(data.join("theirs"), "").expect("written");
    set_mode(&data, 0o770);
    let log = Service::start(serve(&data)).await.output();
    assert_eq!(lines(&log, "can be written by its group"), 1, "{log}");

    set_mode(&data, 0o777);
    let end = run(serve(&data)).await;
    assert!(!end.status.success() && end.stderr.contains("written by all users"), "{end:?}");
    set_mode(&data, 0o700);
    eventually("the first service has ended", async || fs::remove_file(data.join("intray.lock")).ok()).await;
    let victim = folder.path().join("victim");
    symlink(&victim, data.join("intray.lock")).expect("a trap");
    let end = run(serve(&data)).await;
    assert!(!end.status.success() && end.stderr.contains("symbolic link"), "{end:?}");
    assert!(!victim.exists(), "the link is not followed");
}

#[tokio::test]
async fn error_is_reported_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    let end = run(serve(&file)).await;
    assert!(!end.status.success(), "{end:?}");
    assert_eq!(end.stderr.matches("os error").count(), 1, "{end:?}");
}

#[tokio::test]
async fn overcommit_advice_of_redis_is_not_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = Service::start(serve(folder.path())).await.output();
    assert!(!log.to_lowercase().contains("overcommit"), "{log}");
    fs::write(folder.path().join("appendonlydir/appendonly.aof.manifest"), "nonsense\n").expect("written");
    let end = run(serve(folder.path())).await;
    assert!(end.stderr.contains("manifest"), "{end:?}");
    assert!(!end.stderr.to_lowercase().contains("overcommit"), "{end:?}");
}

#[tokio::test]
async fn check_counts_failures_and_names_a_wrong_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), true).await;
    let _: String = engine.run("CONFIG SET requirepass right").await;
    let socket = engine.socket();
    let check =
        |options: &str| run(program(["check", "--redis-url", &format!("unix://{}{options}", socket.display())]));
    assert!(check("?pass=right").await.status.success());
    let wrong = check("?pass=hunter2").await;
    assert!(!wrong.status.success() && wrong.stdout.contains("password"), "{wrong:?}");
    assert!(wrong.stdout.contains("wrong") && !wrong.stdout.contains("hunter2"), "{wrong:?}");
    assert!(wrong.stderr.trim().ends_with("1 check failed"), "{wrong:?}");
    let none = check("").await;
    assert!(!none.status.success() && none.stdout.contains("password"), "{none:?}");
    let _: String = engine.run("CONFIG SET maxmemory-policy allkeys-lru").await;
    let mut command = program(["check", "--listen", "0.0.0.0:0"]);
    command.env("REDIS_URL", format!("unix://{}?pass=right", socket.display()));
    let two = run(command).await;
    assert!(two.stderr.trim().ends_with("2 checks failed"), "{two:?}");
    assert!(!two.stdout.contains("well") && !two.stdout.contains("folder"), "{two:?}");
}

#[tokio::test]
async fn check_leaves_no_store_where_there_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let (new, empty) = (folder.path().join("not/yet"), folder.path().join("empty"));
    std::fs::create_dir(&empty).expect("a folder");
    for data in [&new, &empty] {
        let end = run(program(["check", "--data-dir", data.to_str().expect("UTF-8")])).await;
        assert!(end.status.success() && end.stdout.ends_with("all is well\n"), "{end:?}");
        let line = end.stdout.lines().find(|line| line.starts_with("ok       folder: ")).expect("a line of the folder");
        assert!(line.contains(data.to_str().expect("UTF-8")) && line.contains("0 bytes of data"), "{line}");
    }
    assert!(!folder.path().join("not").exists());
    assert_eq!(std::fs::read_dir(&empty).expect("a folder").count(), 0);
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("written");
    let end = run(program(["check", "--data-dir", file.join("below").to_str().expect("UTF-8")])).await;
    assert!(!end.status.success() && end.stderr.contains("the data folder"), "{end:?}");
}

#[tokio::test]
async fn check_reads_a_private_server_in_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(serve(folder.path())).await;
    let client = Client::new(service.url());
    client.enqueue(1).await;
    let end = run(program(["check", "--data-dir", folder.path().to_str().expect("UTF-8")])).await;
    assert!(end.status.success() && end.stdout.contains("ok       layout"), "{end:?}");
    let place = folder.path().canonicalize().expect("a folder");
    let line = end.stdout.lines().find(|line| line.starts_with("ok       folder: ")).expect("a line of the folder");
    assert!(line.contains(&format!("{}: ", place.display())) && line.contains(" free on its disk"), "{line}");
    let sizes = line.split(": ").nth(2).expect("sizes").replace(|c: char| c.is_ascii_digit() || c == '.', "");
    assert!(sizes.starts_with(" bytes of data") || sizes.starts_with(" KiB of data"), "{line}");
    assert_eq!(end.stdout.lines().last(), Some("all is well"), "{end:?}");
    client.enqueue(2).await;
    assert_eq!(client.queue().await["counts"]["waiting"], 2, "the service continues");
}
