//! Startup: what it refuses and checks.

use serde_json::json;

use crate::world::{Client, Engine, Exit, Service, World, eventually, program, run};

#[track_caller]
fn refuses(end: &Exit, words: &[&str]) {
    assert!(!end.status.success(), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "one clear line: {end:?}");
    end.assert_no_repetition();
    for word in words {
        assert!(end.stderr.to_lowercase().contains(word), "{word}: {end:?}");
    }
}

fn serve(args: &[&str]) -> std::process::Command {
    program(["serve"].iter().chain(args))
}

#[tokio::test]
async fn start_is_refused_without_durability_or_access_control() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let url = format!("unix://{}", engine.socket().display());
    let listen = ["--listen", "127.0.0.1:0", "--redis-url"];
    let with = |url: &str| serve(&[&listen[..], &[url]].concat());

    refuses(&run(serve(&["--listen", "0.0.0.0:0", "--redis-url", &url])).await, &["--insecure"]);
    let anybody = ["--cors-origin", "https://desk.example,*", "--redis-url", &url];
    refuses(&run(serve(&[&listen[..2], &anybody].concat())).await, &["--cors-origin", "--insecure"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    refuses(&run(serve(&["--listen", &address, "--redis-url", &url])).await, &[&address]);
    let _: String = engine.run("CONFIG SET maxmemory-policy allkeys-lru").await;
    refuses(&run(with(&url)).await, &["noeviction"]);
    let _: String = engine.run("CONFIG SET maxmemory-policy noeviction").await;
    let _: String = engine.run("SET intray:layout 999").await;
    refuses(&run(with(&url)).await, &["layout"]);
    let _: u64 = engine.run("DEL intray:layout").await;
    let service = Service::start(with(&url)).await;
    assert_eq!(Client::new(service.url()).get("/readyz").await.status, 200);
}

#[tokio::test]
async fn threads_flag_sets_the_number_of_threads() {
    let threads = async |count: &str| {
        let w = World::plan().own_process().flag("--threads", count).start().await;
        let text = w.get("/metrics").await.text();
        let found = text.lines().find_map(|line| line.strip_prefix("process_threads ")?.parse::<u32>().ok());
        found.expect("the process's threads")
    };
    assert_eq!(threads("5").await - threads("1").await, 4);
}

#[tokio::test]
async fn serve_is_the_default_and_environment_equals_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let mut command = program([] as [&str; 0]);
    command.env("INTRAY_LISTEN", "127.0.0.1:0").env("REDIS_URL", format!("unix://{}", engine.socket().display()));
    command.env("INTRAY_PREFIX", "mine").env("INTRAY_MAX_PAYLOAD_BYTES", "5");
    let service = Service::start(command).await;
    let client = Client::new(service.url());
    client.enqueue(1).await;
    client.send_enqueue(json!({ "payload": "too large" })).await.refused("too-large");
    let keys: Vec<String> = engine.run("KEYS *").await;
    assert!(keys.iter().all(|key| key.starts_with("mine:")), "{keys:?}");
    let listen = client.address().to_owned();
    assert!(run(program(["healthcheck", "--listen", &listen])).await.status.success());
    engine.freeze();
    eventually("the probe succeeds", async || {
        let probe = run(program(["healthcheck", "--listen", &listen])).await;
        (!probe.status.success()).then_some(())
    })
    .await;
    engine.thaw();
}

#[tokio::test]
async fn check_names_each_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), true).await;
    let url = format!("unix://{}", engine.socket().display());
    let check = || run(program(["check", "--redis-url", &url]));
    let fine = check().await;
    assert!(fine.status.success(), "{fine:?}");
    let _: String = engine.run("CONFIG SET maxmemory-policy allkeys-lru").await;
    let wrong = check().await;
    assert!(!wrong.status.success() && wrong.stdout.contains("noeviction"), "{wrong:?}");
    let _: String = engine.run("CONFIG SET maxmemory-policy noeviction").await;
    let _: String = engine.run("CONFIG SET appendonly no").await;
    let warned = check().await;
    assert!(warned.status.success() && warned.stdout.contains("warning"), "{warned:?}");
    let last = warned.stdout.lines().last().expect("a line");
    assert!(last.starts_with("all is well, except for ") && last.contains(" warning"), "{warned:?}");
}
