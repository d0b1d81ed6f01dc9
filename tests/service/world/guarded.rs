//! A service that asks sentinels where the primary is.

use super::{Client, Service, check, program, sentinels::Watched};

impl Watched {
    pub async fn serve(&self, flags: &[&str]) -> (Service, Client) {
        let mut command = program(["serve", "--listen", "127.0.0.1:0", "--redis-url", &self.url()]);
        command.args(flags);
        let service = Service::start(command).await;
        let client = Client::new(service.url());
        (service, client)
    }

    /// The end of a story, as of every other.
    pub async fn check(&mut self, node: usize, client: &Client) {
        self.nodes[node].connect().await;
        check::check(&self.nodes[node], client).await;
    }
}
