//! A restart of a Redis whose user `default` lacks rights throws away what scripts have changed: it is warned of before, and
//! reported after.

use std::{fs, path::PathBuf};

use serde_json::json;
use tempfile::TempDir;

use crate::world::{
    CallFate, ChildProcess, Client, Service, World, cluster::LONG_NODE_TIMEOUT_MS, eventually, program, run,
    server_program, tool,
};

/// The line of the page, as it is written into an ACL file.
fn documented() -> &'static str {
    let page = include_str!("../../../docs/scale.md");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER default ")).expect("the line");
    line.strip_prefix("ACL SETUSER ").expect("its start")
}

/// A Redis with an ACL file and an append-only file. Its clients log in as `admin`.
struct RestrictedRedis {
    process: ChildProcess,
    folder: TempDir,
}

impl RestrictedRedis {
    async fn start(default_user: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let it = Self { process: launch(&folder), folder };
        it.set_default_user(default_user);
        let mut it = it;
        it.restart().await;
        it
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    fn url(&self) -> String {
        format!("unix://{}?user=admin&pass=pw", self.socket().display())
    }

    /// From the next start on.
    fn set_default_user(&self, rules: &str) {
        let users = format!("user {rules}\nuser admin on >pw ~* &* +@all\n");
        fs::write(self.folder.path().join("users.acl"), users).expect("written");
    }

    async fn restart(&mut self) {
        self.process.signal(libc::SIGTERM);
        eventually("it ends", async || self.process.child().try_wait().expect("our child")).await;
        self.process = launch(&self.folder);
        eventually("it answers", async || self.try_run::<String>("PING").await.ok()).await;
    }

    async fn run<T: redis::FromRedisValue>(&self, words: &str) -> T {
        self.try_run(words).await.unwrap_or_else(|e| panic!("{words}: {e}"))
    }

    async fn try_run<T: redis::FromRedisValue>(&self, words: &str) -> redis::RedisResult<T> {
        let client = redis::Client::open(self.url()).expect("a URL");
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut words = words.split(' ');
        redis::cmd(words.next().unwrap_or_default()).arg(words.collect::<Vec<_>>()).query_async(&mut connection).await
    }

    /// Waits until the marker is written twice, for which there is no sign from outside.
    async fn wait_for_marker(&self) {
        eventually("the marker is there", async || {
            let copy: Option<u64> = self.run("HGET intray:{restart-0} outside").await;
            copy
        })
        .await;
    }

    fn serve(&self) -> std::process::Command {
        program(["serve", "--listen", "127.0.0.1:0", "--redis-url", &self.url()])
    }
}

fn launch(folder: &TempDir) -> ChildProcess {
    let folder = folder.path();
    let users = folder.join("users.acl");
    if !users.exists() {
        fs::write(&users, "user admin on >pw ~* &* +@all\n").expect("written");
    }
    let mut command = tool(server_program());
    command.args(["--port", "0", "--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction"]);
    command.arg("--dir").arg(folder).arg("--unixsocket").arg(folder.join("redis.sock")).arg("--aclfile").arg(users);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    ChildProcess::spawn(command)
}

async fn emptied(client: &Client) -> f64 {
    let text = client.get("/metrics").await.text();
    text.lines().find_map(|line| line.strip_prefix("intray_redis_emptied_total ")?.parse().ok()).unwrap_or_default()
}

/// Once Redis answers again.
async fn waiting(client: &Client) -> u64 {
    eventually("the queue is shown", async || {
        let queue = client.get("/queues/default").await;
        (queue.status == 200).then(|| queue.is(200)["counts"]["waiting"].as_u64()).flatten()
    })
    .await
}

/// Whether the server has the fault at all: it is repaired in later versions.
async fn loses_transactions(redis: &mut RestrictedRedis) -> bool {
    let _: i64 = redis.run("EVAL redis.call('SET',KEYS[1],1);redis.call('SET',KEYS[2],1);return(1) 2 a b").await;
    redis.restart().await;
    let kept: i64 = redis.run("EXISTS a").await;
    kept == 0
}

const LOST: &str = "without what scripts had changed";

#[tokio::test]
async fn restart_that_loses_script_changes_is_reported_by_all() {
    for rules in ["default off", "default on nopass -@all +ping", "default off nopass ~other:* +@all"] {
        let mut redis = RestrictedRedis::start("default off nopass ~* &* +@all").await;
        let (first, second) = (Service::start(redis.serve()).await, Service::start(redis.serve()).await);
        let (client, other) = (Client::new(first.url()), Client::new(second.url()));
        redis.wait_for_marker().await;
        for n in 0..3 {
            client.enqueue(n).await;
        }
        redis.set_default_user(rules);
        if !loses_transactions(&mut redis).await {
            return;
        }
        for (service, client) in [(&first, &client), (&second, &other)] {
            eventually("the instance reports it", async || (emptied(client).await > 0.0).then_some(())).await;
            let ready = client.get("/readyz?verbose").await;
            assert!(ready.status == 200 && ready.text().contains(LOST), "{rules}: {}", ready.text());
            let output = eventually("the log has it", async || {
                Some(service.output()).filter(|output| output.contains("has thrown away what scripts had changed"))
            })
            .await;
            let line = output.lines().find(|line| line.contains("has thrown away")).unwrap_or_default();
            assert!(line.contains("ERROR") && line.contains(&format!("ACL SETUSER {}", documented())), "{line}");
        }
        assert_eq!(waiting(&client).await, 0, "{rules}");
        client.enqueue("later").await;
        let third = Service::start(redis.serve()).await.output();
        assert!(third.contains("a restart of Redis throws away"), "{third}");

        // What was thrown away is still in the file.
        redis.set_default_user(documented());
        redis.restart().await;
        eventually("all of it is back", async || (waiting(&client).await == 4).then_some(())).await;
        assert_eq!(emptied(&client).await, 1.0, "{rules}: reported once\n{}", first.output());
        assert_eq!(emptied(&other).await, 1.0, "{rules}: reported once\n{}", second.output());
    }
}

#[tokio::test]
async fn restart_with_the_documented_line_loses_nothing() {
    let mut redis = RestrictedRedis::start(documented()).await;
    let service = Service::start(redis.serve()).await;
    let client = Client::new(service.url());
    redis.wait_for_marker().await;
    for times in 1..=2_u64 {
        for n in 0..3 {
            client.send_enqueue(json!({ "payload": [times, n] })).await.is(201);
        }
        let looked: u64 = redis.run("HGET intray:{restart-0} inside").await;
        redis.restart().await;
        eventually("the instance has looked", async || {
            let now: u64 = redis.run("HGET intray:{restart-0} inside").await;
            (now > looked).then_some(())
        })
        .await;
        assert_eq!(waiting(&client).await, 3 * times);
    }
    assert_eq!(emptied(&client).await, 0.0, "{}", service.output());
    assert!(!service.output().contains("thrown away"), "{}", service.output());
    let checked = run(program(["check", "--redis-url", &redis.url()])).await;
    assert!(checked.status.success() && checked.stdout.contains("ok       restart"), "{checked:?}");
}

#[tokio::test]
async fn loss_is_found_at_the_start_too() {
    let mut redis = RestrictedRedis::start(documented()).await;
    let mut service = Service::start(redis.serve()).await;
    redis.wait_for_marker().await;
    service.kill();
    redis.set_default_user("default off");
    if !loses_transactions(&mut redis).await {
        return;
    }
    // Repaired by hand meanwhile.
    let _: String = redis.run(&format!("ACL SETUSER {}", documented())).await;
    let service = Service::start(redis.serve()).await;
    let client = Client::new(service.url());
    eventually("it is reported", async || (emptied(&client).await == 1.0).then_some(())).await;
    let later = Service::start(redis.serve()).await;
    redis.wait_for_marker().await;
    assert_eq!(emptied(&Client::new(later.url())).await, 0.0, "an instance that starts later has lost nothing");
}

#[tokio::test]
async fn lacking_default_user_is_named_and_no_look_is_reported() {
    for (rules, is_lacking) in [
        ("default off", true),
        ("default on nopass ~* &* +@all -hset", true),
        ("default off nopass ~other:* &* +@all", true),
        ("default on nopass ~* &* +@all -@dangerous", false),
        (documented(), false),
    ] {
        let redis = RestrictedRedis::start(rules).await;
        let checked = run(program(["check", "--redis-url", &redis.url()])).await;
        assert_eq!(checked.status.success(), !is_lacking, "{rules}: {checked:?}");
        let line = checked.stdout.lines().find(|line| line.contains(" restart")).unwrap_or_default();
        assert_eq!(line.starts_with("wrong    restart: "), is_lacking, "{rules}: {checked:?}");
        assert_eq!(line.contains(documented()), is_lacking, "{rules}: {checked:?}");
        let _: String = redis.run("ACL SETUSER blind on >pw ~intray:* &intray:* +@all -acl").await;
        let url = redis.url().replace("admin", "blind");
        let checked = run(program(["check", "--redis-url", &url])).await;
        let is_reported = checked.stdout.contains("it is not verified that Redis keeps all jobs when it is restarted");
        assert!(checked.status.success() && is_reported, "{rules}: {checked:?}");
        assert!(!checked.stdout.contains("ok       restart"), "{rules}: {checked:?}");
        let _: String = redis.run("CONFIG SET appendonly no").await;
        let checked = run(program(["check", "--redis-url", &redis.url()])).await;
        assert!(checked.status.success(), "nothing is replayed: {rules}: {checked:?}");
    }
}

/// A loss between the two steps of a look is left to the next look.
#[tokio::test]
async fn loss_during_a_look_is_reported() {
    let w = World::plan().hurried().with_proxy().with_long_redis_timeout().start().await;
    let marker = "intray:{restart-0}";
    for nth in 1..=2_u32 {
        w.proxy().inject("restart", 1, CallFate::Held);
        eventually("a look has read the marker", async || (w.proxy().injected_calls() == 1).then_some(())).await;
        let _: u64 = w.engine.run(&format!("HSET {marker} outside {}", 1_000 * nth)).await;
        w.proxy().release_held();
        eventually("it is reported", async || {
            (w.metric("intray_redis_emptied_total").await == f64::from(nth)).then_some(())
        })
        .await;
    }
    assert!(w.get("/readyz?verbose").await.text().contains(LOST));
    w.check().await;
}

/// Each node of a cluster has a marker of its own.
#[tokio::test]
async fn loss_at_one_node_of_a_cluster_is_reported() {
    let w = World::plan().hurried().with_cluster(LONG_NODE_TIMEOUT_MS).start().await;
    let markers = async || {
        let mut all: Vec<String> = w.engine.run("KEYS intray:{restart-*}").await;
        all.sort();
        all
    };
    let all = eventually("each node has one", async || Some(markers().await).filter(|all| all.len() == 3)).await;
    for (nth, key) in all.iter().enumerate() {
        eventually("it is complete", async || {
            let copy: Option<u64> = w.engine.run(&format!("HGET {key} outside")).await;
            copy
        })
        .await;
        let ahead = 1_000;
        eventually("it is reported", async || {
            let _: u64 = w.engine.run(&format!("HSET {key} outside {ahead}")).await;
            // A look that had begun before overwrites this without having seen it.
            eventually("the next look ends", async || {
                let copy: u64 = w.engine.run(&format!("HGET {key} outside")).await;
                (copy != ahead).then_some(())
            })
            .await;
            (w.metric("intray_redis_emptied_total").await == nth as f64 + 1.0).then_some(())
        })
        .await;
    }
    assert!(w.get("/readyz?verbose").await.text().contains(LOST));
    w.check().await;
}
