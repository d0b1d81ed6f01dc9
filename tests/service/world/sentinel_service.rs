//! A service that asks sentinels where the primary is.

use super::{Client, Service, check, program, sentinels::SentinelSetup, with_default_redis_timeout};

impl SentinelSetup {
    /// An instance beside the primary: it reaches every server directly, and the sentinels through their proxies.
    pub async fn serve_beside_primary(&self, flags: &[&str]) -> (Service, Client) {
        let map: Vec<_> = self
            .ports
            .iter()
            .zip(&self.network.real)
            .map(|(gate, real)| format!("127.0.0.1:{gate}=127.0.0.1:{real}"))
            .collect();
        self.serve_at(&self.url_by("redis", &self.others), &[flags, &["--sentinel-map", &map.join(",")]].concat()).await
    }

    pub async fn serve(&self, flags: &[&str]) -> (Service, Client) {
        self.serve_at(&self.url(), flags).await
    }

    /// With credentials for Redis.
    pub async fn serve_with_credentials(&self, who: &str, flags: &[&str]) -> (Service, Client) {
        self.serve_at(&self.url().replace("://", &format!("://{who}@")), flags).await
    }

    async fn serve_at(&self, url: &str, flags: &[&str]) -> (Service, Client) {
        let args = ["serve", "--listen", "127.0.0.1:0", "--redis-url", url];
        let mut command = with_default_redis_timeout(program(args));
        command.args(flags);
        let service = Service::start(command).await;
        let client = Client::new(service.url());
        (service, client)
    }

    /// Checks the world at the end of a test.
    pub async fn check(&mut self, node: usize, client: &Client) {
        self.nodes[node].connect().await;
        check::check(&self.nodes[node], client).await;
    }
}
