//! Proxies before servers and sentinels.

use super::{
    super::{Engine, children::free_port, eventually, proxy::Proxy, replica::open_port},
    SentinelPlan,
};

/// The proxies of a breakable network.
#[derive(Default)]
pub struct Network {
    pub(super) servers: Vec<Proxy>,
    pub(super) sentinels: Vec<Proxy>,
    /// The servers' own ports.
    pub real: Vec<u16>,
}

impl Network {
    /// Answers the port by which all others know a server.
    pub(super) async fn open(&mut self, node: &Engine, plan: &SentinelPlan) -> u16 {
        if let Some(papers) = &plan.papers {
            return eventually("a port", async || {
                let port = free_port();
                let words = format!("CONFIG SET {} tls-port {port}", papers.replace('\n', " "));
                node.try_run_on::<String>(0, &words).await.ok().map(|_| port)
            })
            .await;
        }
        let real = open_port(node).await;
        if !plan.breakable {
            return real;
        }
        let (gate, port) = Proxy::before_port(real).await;
        let _: String =
            node.run(&format!("CONFIG SET replica-announce-ip 127.0.0.1 replica-announce-port {port}")).await;
        self.servers.push(gate);
        self.real.push(real);
        port
    }

    pub(super) async fn open_sentinel(&mut self, real: u16) -> u16 {
        let (gate, port) = Proxy::before_port(real).await;
        self.sentinels.push(gate);
        port
    }
}
