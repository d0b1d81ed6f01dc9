//! TLS to a cluster and to what sentinels name: all of it by certificates of a private authority, and what is wrong with one is
//! one clear line.

use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::world::{
    Client, Engine, Exit, Service, World,
    authority::{CertificateAuthority, CertifiedKey},
    program, run,
    sentinels::SentinelSetup,
    tls,
};

const PASSWORD: &str = "hunter2";
const HERE: &str = "127.0.0.1";

/// Somebody who signs, and what they have signed.
struct Papers {
    ours: CertificateAuthority,
    theirs: CertificateAuthority,
    good: CertifiedKey,
    folder: TempDir,
}

impl Papers {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, theirs) =
            (CertificateAuthority::new(folder.path(), "ours"), CertificateAuthority::new(folder.path(), "theirs"));
        let good = ours.issue(HERE, 2099);
        Self { ours, theirs, good, folder }
    }

    /// Whoever shows these is refused, for such a reason.
    fn bad(&self) -> [(CertifiedKey, &'static str); 2] {
        [(self.ours.issue("elsewhere.example", 2099), "another name"), (self.ours.issue(HERE, 2021), "has expired")]
    }

    fn serve(&self, url: &str, ca: &CertificateAuthority) -> Command {
        assert!(self.folder.path().exists());
        let mut command = program(["serve", "--listen", "127.0.0.1:0", "--redis-url", url]);
        command.arg("--redis-ca-file").arg(ca.ca_file());
        command
    }

    /// As it is, with a certificate of nobody whom we know.
    async fn strangers_are_refused(&self, url: &str) {
        refused(&run(self.serve(url, &self.theirs)).await, &["signed by nobody", "--redis-ca-file"]);
    }
}

fn refused(end: &Exit, words: &[&str]) {
    assert!(!end.status.success() && !end.stderr.contains(PASSWORD), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "one clear line: {end:?}");
    for word in words {
        assert!(end.stderr.contains(word), "{word}: {end:?}");
    }
}

/// From its beginning to its end, and heard of by whoever waits for it.
async fn a_job_lives(client: &Client, queue: &str) {
    let waiter = client.start_wait(json!({ "queues": [queue], "worker": "ann" })).await;
    let id = client.enqueue_with(json!({ "queue": queue, "payload": "by TLS" })).await;
    let held = waiter.job().await;
    assert_eq!(held.id, id);
    client.complete(&held).await.is(200);
}

async fn has_a_user(engine: &Engine) {
    let _: String = engine.run(&format!("ACL SETUSER app on >{PASSWORD} ~* &* +@all")).await;
}

#[tokio::test]
async fn a_cluster_is_known_by_the_certificates_of_its_nodes() {
    let mut w = World::start_cluster().await;
    let (papers, queues) = (Papers::new(), w.queue_of_each_node().await);
    has_a_user(&w.engine).await;
    let places = w.engine.enable_cluster_tls(&papers.ours, &papers.good).await;
    let url = format!("rediss+cluster://app:{PASSWORD}@{}", places.join(","));
    let service = Service::start(papers.serve(&url, &papers.ours)).await;
    let client = Client::new(service.url());
    for queue in &queues {
        a_job_lives(&client, queue).await;
    }
    for (nth, place) in places.iter().enumerate() {
        let clients: String = w.engine.run_on(nth, "CLIENT LIST TYPE normal").await;
        let by_tls = clients.lines().filter(|line| line.contains(&format!("laddr={place}")));
        assert!(by_tls.count() >= 1, "{clients}");
    }
    papers.strangers_are_refused(&url).await;
    for (pair, why) in papers.bad() {
        for nth in 0..3 {
            tls::replace_certificate(&w.engine, nth, &pair).await;
        }
        refused(&run(papers.serve(&url, &papers.ours)).await, &[HERE, why]);
    }
    w.check().await;
}

#[tokio::test]
async fn a_primary_and_its_sentinels_are_known_by_their_certificates() {
    let papers = Papers::new();
    let mut w = SentinelSetup::with_tls(&papers.ours, &papers.good).await;
    for node in &w.nodes {
        has_a_user(node).await;
    }
    let url = w.url().replace("://", &format!("://app:{PASSWORD}@"));
    let service = Service::start(papers.serve(&url, &papers.ours)).await;
    let client = Client::new(service.url());
    a_job_lives(&client, "default").await;
    let clients: String = w.nodes[0].run("CLIENT LIST TYPE normal").await;
    assert!(
        clients.lines().filter(|line| line.contains(&format!("laddr={HERE}:{}", w.port(0)))).count() >= 2,
        "{clients}"
    );
    papers.strangers_are_refused(&url).await;
    for (pair, why) in papers.bad() {
        // The sentinels are who they say; the primary is not.
        tls::replace_certificate(&w.nodes[0], 0, &pair).await;
        refused(&run(papers.serve(&url, &papers.ours)).await, &[why]);
    }
    tls::replace_certificate(&w.nodes[0], 0, &papers.good).await;
    w.check(0, &client).await;
}
