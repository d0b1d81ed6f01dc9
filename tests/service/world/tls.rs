//! Servers that are reached by TLS.

use super::{
    Engine,
    authority::{CertificateAuthority, CertifiedKey},
    children::free_port,
    eventually,
};

/// Makes a server present this certificate, and request a client certificate or not; answers its port.
pub async fn enable_tls(
    engine: &Engine,
    nth: usize,
    ca: &CertificateAuthority,
    own: &CertifiedKey,
    asks_for_ours: bool,
) -> u16 {
    let path = |file: &std::path::Path| file.to_str().expect("UTF-8").to_owned();
    let (asks, ca) = (if asks_for_ours { "yes" } else { "no" }, path(&ca.ca_file()));
    let files = format!("tls-cert-file {} tls-key-file {}", path(&own.certificate), path(&own.key));
    // Another process may take the port first.
    eventually("a port", async || {
        let port = free_port();
        let words = format!("CONFIG SET tls-ca-cert-file {ca} {files} tls-auth-clients {asks} tls-port {port}");
        engine.try_run_on::<String>(nth, &words).await.ok().map(|_| port)
    })
    .await
}

/// Replaces the certificate of a server.
pub async fn replace_certificate(engine: &Engine, nth: usize, own: &CertifiedKey) {
    let (certificate, key) = (own.certificate.display(), own.key.display());
    let _: String = engine.run_on(nth, &format!("CONFIG SET tls-cert-file {certificate} tls-key-file {key}")).await;
}

impl Engine {
    /// Enables TLS between all nodes and clients of a cluster; answers the addresses.
    pub async fn enable_cluster_tls(&mut self, ca: &CertificateAuthority, own: &CertifiedKey) -> Vec<String> {
        let mut places = Vec::new();
        for nth in 0..self.node_count() {
            let port = enable_tls(self, nth, ca, own, false).await;
            let _: String = self.run_on(nth, "CONFIG SET tls-cluster yes").await;
            let _: String = self.run_on(nth, &format!("CONFIG SET cluster-announce-tls-port {port}")).await;
            self.add_announced_port(nth, port);
            places.push(format!("127.0.0.1:{port}"));
        }
        for nth in 0..self.node_count() {
            eventually("all know where the others speak it", async || {
                let nodes: String = self.run_on(nth, "CLUSTER NODES").await;
                places.iter().all(|place| nodes.contains(&format!("{place}@"))).then_some(())
            })
            .await;
        }
        places
    }
}
