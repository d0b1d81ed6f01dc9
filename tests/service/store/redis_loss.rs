//! Messages about a Redis that is unreachable, came back, came back empty or is too old.

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::world::{World, eventually, program, run};

fn serve(url: &str) -> std::process::Command {
    program(["serve", "--listen", "127.0.0.1:0", "--redis-url", url])
}

#[tokio::test]
async fn connection_error_names_the_address_without_credentials() {
    for (url, place) in [
        ("redis://someuser:hunter2@127.0.0.1:1", "127.0.0.1:1"),
        ("unix:///nowhere/redis.sock?user=someuser&pass=hunter2", "/nowhere/redis.sock"),
    ] {
        for command in [program(["check", "--redis-url", url]), program(["migrate", "--redis-url", url])] {
            let end = run(command).await;
            let output = format!("{}{}", end.stdout, end.stderr);
            assert!(!end.status.success() && output.contains(place), "{end:?}");
            for word in ["hunter2", "someuser", "new object"] {
                assert!(!output.contains(word), "{word}: {end:?}");
            }
        }
    }
}

#[tokio::test]
async fn loss_and_return_of_redis_are_logged_once_each() {
    let mut w = World::plan().own_process().durable().start().await;
    w.enqueue(1).await;
    let socket = w.engine.socket().display().to_string();
    for times in 1..=2 {
        w.engine.kill();
        for _ in 0..3 {
            w.send_enqueue(json!({ "payload": "no" })).await.refused("unavailable");
        }
        let probed = eventually("readiness fails", async || {
            let answer = w.get("/readyz?verbose").await;
            (answer.status == 503).then_some(answer)
        })
        .await;
        assert!(!probed.text().contains(&socket), "probes show no address:  {}", probed.text());
        w.engine.revive().await;
        eventually("calls are served", async || {
            (w.send_enqueue(json!({ "payload": 1 })).await.status < 300).then_some(())
        })
        .await;
        for _ in 0..5 {
            w.queue().await;
        }
        // The log comes through a pipe, and may come after the answers.
        let backs = || w.service.output().matches("Redis is back").count();
        eventually("the log has it", async || (backs() >= times).then_some(())).await;
        let output = w.service.output();
        for (word, level) in [("Redis is lost", "WARN"), ("Redis is back", "INFO")] {
            let lines: Vec<_> = output.lines().filter(|line| line.contains(word)).collect();
            assert_eq!(lines.len(), times, "{word}: {output}");
            assert!(lines.iter().all(|line| line.contains(level) && line.contains(&socket)), "{lines:?}");
        }
        let back = output.lines().rfind(|line| line.contains("Redis is back")).expect("a line");
        let field = |name: &str| back.split(name).nth(1)?.split(' ').next()?.parse::<u64>().ok();
        assert!(field("away_ms=").is_some_and(|ms| ms > 0) && field("failed_calls=").is_some_and(|n| n >= 3), "{back}");
    }
    w.check().await;
}

#[tokio::test]
async fn empty_redis_is_reported_once_by_every_instance() {
    let mut w = World::start_process().await;
    let (second, _client) = w.start_instance().await;
    w.enqueue(1).await;
    let output = |text: &str| text.lines().filter(|line| line.contains("came back empty")).count();
    for times in 1..=2 {
        if times == 1 {
            w.engine.kill();
            w.engine.revive().await;
        } else {
            let _: String = w.engine.run("FLUSHALL").await;
        }
        eventually("both instances log it", async || {
            (output(&w.service.output()) == times && output(&second.output()) == times).then_some(())
        })
        .await;
    }
    assert_eq!(w.metric("intray_redis_emptied_total").await, 2.0);
    let ready = eventually("the instance is ready", async || {
        let answer = w.get("/readyz?verbose").await;
        (answer.status == 200).then_some(answer)
    })
    .await;
    assert!(ready.text().contains("Redis came back empty at 20"), "{}", ready.text());
    assert_eq!(w.get("/readyz").await.text().trim(), "ok", "work continues");
    let id = w.enqueue(2).await;
    assert_eq!(w.reserve().await.id, id);
    w.check().await;
}

#[tokio::test]
async fn restarted_redis_with_data_is_not_reported_empty() {
    let mut w = World::plan().own_process().durable().start().await;
    w.enqueue(1).await;
    w.engine.kill();
    w.engine.revive().await;
    let looked = async || (*w.engine.calls().await.get("get")? >= 3).then_some(());
    eventually("the instance has looked several times", looked).await;
    assert!(!w.service.output().contains("came back empty"), "{}", w.service.output());
    assert!(w.get("/readyz?verbose").await.text().contains("data: ok"));
    w.check().await;
}

/// The sweeper would list it again within ten seconds; here it never runs.
#[tokio::test]
async fn queue_in_use_is_listed_right_after_a_flush() {
    let w = World::start().await;
    w.enqueue(1).await;
    let _: String = w.engine.run("FLUSHALL").await;
    w.enqueue(2).await;
    eventually("the queue is listed", async || {
        (w.get("/queues").await.is(200)["queues"][0]["name"] == "default").then_some(())
    })
    .await;
    eventually("the layout is restored", async || (w.get("/readyz").await.status == 200).then_some(())).await;
    w.check().await;
}

/// Answers as Redis 6.2 does, as far as the start asks.
async fn answer_as_an_old_redis(stream: TcpStream) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut words = Vec::new();
        let count: usize = line(&mut stream).await?.strip_prefix('*')?.parse().ok()?;
        for _ in 0..count {
            let length: usize = line(&mut stream).await?.strip_prefix('$')?.parse().ok()?;
            let mut word = vec![0; length + 2];
            stream.read_exact(&mut word).await.ok()?;
            words.push(String::from_utf8_lossy(&word[..length]).into_owned());
        }
        let info = "redis_version:6.2.14\r\nrole:master\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n";
        let answer = match words[0].to_uppercase().as_str() {
            "INFO" => format!("${}\r\n{info}\r\n", info.len()),
            "PING" => "+PONG\r\n".to_owned(),
            "GET" => "$-1\r\n".to_owned(),
            "ZRANGE" => "*0\r\n".to_owned(),
            "EVAL" => "-ERR Error compiling script (new function): unexpected symbol near '#'\r\n".to_owned(),
            "EVALSHA" => "-NOSCRIPT No matching script. Please use EVAL.\r\n".to_owned(),
            _ => "-ERR unknown command\r\n".to_owned(),
        };
        stream.write_all(answer.as_bytes()).await.ok()?;
    }
}

async fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut text = String::new();
    stream.read_line(&mut text).await.ok().filter(|length| *length > 0)?;
    Some(text.trim_end().to_owned())
}

#[tokio::test]
async fn too_old_redis_is_refused_with_its_version() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("redis://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_as_an_old_redis(stream));
        }
    });
    for command in [serve(&url), program(["check", "--redis-url", &url]), program(["migrate", "--redis-url", &url])] {
        let end = run(command).await;
        let output = format!("{}{}", end.stdout, end.stderr);
        assert!(!end.status.success() && output.contains("Redis 6.2.14 is too old: 7.0 or newer"), "{end:?}");
        assert!(!output.contains("unexpected symbol"), "{end:?}");
    }
}
