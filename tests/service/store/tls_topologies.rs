//! TLS to a cluster, and to a primary behind sentinels, with certificates of a private authority; each error is one
//! clear line.

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

/// An authority and the certificates that it has signed.
struct Certificates {
    ours: CertificateAuthority,
    theirs: CertificateAuthority,
    good: CertifiedKey,
    folder: TempDir,
}

impl Certificates {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, theirs) =
            (CertificateAuthority::new(folder.path(), "ours"), CertificateAuthority::new(folder.path(), "theirs"));
        let good = ours.issue(HERE, 2099);
        Self { ours, theirs, good, folder }
    }

    /// Certificates that are refused, with the reason.
    fn bad(&self) -> [(CertifiedKey, &'static str); 2] {
        [(self.ours.issue("elsewhere.example", 2099), "another name"), (self.ours.issue(HERE, 2021), "has expired")]
    }

    fn serve(&self, url: &str, ca: &CertificateAuthority) -> Command {
        assert!(self.folder.path().exists());
        let mut command = program(["serve", "--listen", "127.0.0.1:0", "--redis-url", url]);
        command.arg("--redis-ca-file").arg(ca.ca_file());
        command
    }

    /// With a certificate of an unknown authority.
    async fn assert_unknown_authority_refused(&self, url: &str) {
        refused(&run(self.serve(url, &self.theirs)).await, &["not signed by an authority", "--redis-ca-file"]);
    }
}

fn refused(end: &Exit, words: &[&str]) {
    assert!(!end.status.success() && !end.stderr.contains(PASSWORD), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "one clear line: {end:?}");
    for word in words {
        assert!(end.stderr.contains(word), "{word}: {end:?}");
    }
}

/// Runs a whole job, with a waiter that gets it.
async fn run_a_job(client: &Client, queue: &str) {
    let waiter = client.start_wait(json!({ "queues": [queue], "worker": "ann" })).await;
    let id = client.enqueue_with(json!({ "queue": queue, "payload": "by TLS" })).await;
    let held = waiter.job().await;
    assert_eq!(held.id, id);
    client.complete(&held).await.is(200);
}

async fn add_user(engine: &Engine) {
    let _: String = engine.run(&format!("ACL SETUSER app on >{PASSWORD} ~* &* +@all")).await;
}

#[tokio::test]
async fn certificates_of_all_cluster_nodes_are_checked() {
    let mut w = World::start_cluster().await;
    let (papers, queues) = (Certificates::new(), w.queue_of_each_node().await);
    add_user(&w.engine).await;
    let places = w.engine.enable_cluster_tls(&papers.ours, &papers.good).await;
    let url = format!("rediss+cluster://app:{PASSWORD}@{}", places.join(","));
    let service = Service::start(papers.serve(&url, &papers.ours)).await;
    let client = Client::new(service.url());
    for queue in &queues {
        run_a_job(&client, queue).await;
    }
    for (nth, place) in places.iter().enumerate() {
        let clients: String = w.engine.run_on(nth, "CLIENT LIST TYPE normal").await;
        let by_tls = clients.lines().filter(|line| line.contains(&format!("laddr={place}")));
        assert!(by_tls.count() >= 1, "{clients}");
    }
    papers.assert_unknown_authority_refused(&url).await;
    for (pair, why) in papers.bad() {
        for nth in 0..3 {
            tls::replace_certificate(&w.engine, nth, &pair).await;
        }
        refused(&run(papers.serve(&url, &papers.ours)).await, &[HERE, why]);
    }
    for nth in 0..3 {
        tls::replace_certificate(&w.engine, nth, &papers.good).await;
    }
    // A service without TLS may be sent to the ports that speak it, while the nodes learn them from each other.
    w.check_through(&client).await;
}

#[tokio::test]
async fn certificates_of_primary_and_sentinels_are_checked() {
    let papers = Certificates::new();
    let mut w = SentinelSetup::with_tls(&papers.ours, &papers.good).await;
    for node in &w.nodes {
        add_user(node).await;
    }
    let url = w.url().replace("://", &format!("://app:{PASSWORD}@"));
    let service = Service::start(papers.serve(&url, &papers.ours)).await;
    let client = Client::new(service.url());
    run_a_job(&client, "default").await;
    let clients: String = w.nodes[0].run("CLIENT LIST TYPE normal").await;
    assert!(
        clients.lines().filter(|line| line.contains(&format!("laddr={HERE}:{}", w.port(0)))).count() >= 2,
        "{clients}"
    );
    papers.assert_unknown_authority_refused(&url).await;
    for (pair, why) in papers.bad() {
        // The sentinels' certificates are valid, the primary's is not.
        tls::replace_certificate(&w.nodes[0], 0, &pair).await;
        refused(&run(papers.serve(&url, &papers.ours)).await, &[why]);
    }
    tls::replace_certificate(&w.nodes[0], 0, &papers.good).await;
    w.check(0, &client).await;
}
