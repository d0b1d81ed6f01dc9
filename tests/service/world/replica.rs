//! Other Redis servers that follow a world's.

use super::{Engine, children::free_port, eventually};

/// Retries, because another process may take the port first.
pub async fn open_port(engine: &Engine) -> u16 {
    eventually("a port", async || {
        let port = free_port();
        let mut command = redis::cmd("CONFIG");
        command.arg("SET").arg("port").arg(port);
        command.query_async::<String>(&mut engine.connection()).await.ok().map(|_| port)
    })
    .await
}

/// A replica that has all that its primary has.
pub async fn start(primary: &Engine, port: u16, name: &str) -> Engine {
    let folder = primary.folder().join(name);
    std::fs::create_dir(&folder).expect("a folder");
    let replica = Engine::start(&folder, false).await;
    follow(&replica, primary, port).await;
    replica
}

pub async fn follow(replica: &Engine, primary: &Engine, port: u16) {
    // It would wait for more of them.
    let _: String = primary.run("CONFIG SET repl-diskless-sync-delay 0").await;
    let online = async || {
        let info: String = primary.run("INFO replication").await;
        info.matches("state=online").count()
    };
    let before = online().await;
    let _: String = replica.run(&format!("REPLICAOF 127.0.0.1 {port}")).await;
    eventually("the replica follows", async || {
        let info: String = replica.run("INFO replication").await;
        info.contains("master_link_status:up").then_some(())
    })
    .await;
    eventually("the primary counts it", async || (online().await > before).then_some(())).await;
}
