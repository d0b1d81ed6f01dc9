//! A proxy between the service and Redis that injects faults into connections or into single calls.

mod carry;
mod injection;
mod resp;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::watch,
};

pub use self::injection::CallFate;
use self::{carry::carry, injection::Injections};
use super::Engine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// None: everything passes.
    None,
    /// Connections are closed as soon as they are made; the open ones stay.
    Refuse,
    /// Nothing passes in either direction; connections stay open.
    Freeze,
    /// Requests pass, replies are thrown away.
    DropReplies,
}

#[derive(Debug, Clone, Copy)]
struct Orders {
    fault: Fault,
    /// Raised with each cut.
    cuts: u64,
    /// Raised when those that are held may go.
    releases: u64,
}

struct Shared {
    orders: watch::Sender<Orders>,
    /// Packets that do not pass because of a freeze.
    withheld: AtomicUsize,
    injections: Injections,
}

pub struct Proxy {
    /// What `--redis-url` says of it.
    url: String,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Before one port; answers at which.
    pub async fn before_port(server: u16) -> (Self, u16) {
        let door = TcpListener::bind("127.0.0.1:0").await.expect("a port for the proxy");
        let (port, shared) = (door.local_addr().expect("an address").port(), Shared::new());
        tokio::spawn(shared.clone().accept_on_port(door, server));
        (Self { url: format!("redis://127.0.0.1:{port}"), shared }, port)
    }

    /// Before each of its nodes, where it is a cluster.
    pub async fn start(folder: &Path, engine: &mut Engine) -> Self {
        let shared = Shared::new();
        if !engine.is_cluster() {
            let url = before_socket(folder, engine, &shared);
            return Self { url, shared };
        }
        let mut places = Vec::new();
        for nth in 0..engine.node_count() {
            let door = TcpListener::bind("127.0.0.1:0").await.expect("a port for the proxy");
            let (port, server) = (door.local_addr().expect("an address").port(), engine.port_of(nth));
            engine.announce_port(nth, port).await;
            places.push(format!("127.0.0.1:{port}"));
            tokio::spawn(shared.clone().accept_on_port(door, server));
        }
        engine.wait_for_announced_ports().await;
        Self { url: format!("redis+cluster://{}", places.join(",")), shared }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether a packet is held back by a freeze.
    pub fn is_withholding(&self) -> bool {
        self.shared.withheld.load(Ordering::Relaxed) > 0
    }

    pub fn set_fault(&self, fault: Fault) {
        self.shared.orders.send_modify(|orders| orders.fault = fault);
    }

    /// Closes every open connection at once.
    pub fn cut_connections(&self) {
        self.shared.orders.send_modify(|orders| orders.cuts += 1);
    }

    /// Applies a fault to the nth call of a script from now on.
    pub fn inject(&self, script: &str, nth: usize, fate: CallFate) {
        self.shared.injections.set(Some(script), nth, 1, fate);
    }

    /// Applies a fault to every nth call of any script, at most so many times.
    pub fn inject_each(&self, nth: usize, max: usize, fate: CallFate) {
        self.shared.injections.set(None, nth, max, fate);
    }

    /// Releases held calls.
    pub fn release_held(&self) {
        self.shared.orders.send_modify(|orders| orders.releases += 1);
    }

    /// How many calls have been caught.
    pub fn injected_calls(&self) -> usize {
        self.shared.injections.hits()
    }

    /// How many of those Redis has done.
    pub fn executed_calls(&self) -> usize {
        *self.shared.injections.done.borrow()
    }
}

fn before_socket(folder: &Path, engine: &Engine, shared: &Arc<Shared>) -> String {
    let (socket, server, shared) = (folder.join("proxy.sock"), engine.socket(), shared.clone());
    let door = UnixListener::bind(&socket).expect("a socket for the proxy");
    tokio::spawn(async move {
        while let Ok((client, _)) = door.accept().await {
            let (shared, server) = (shared.clone(), server.clone());
            tokio::spawn(async move {
                let Ok(server) = UnixStream::connect(server).await else { return };
                shared.carry(client, server).await;
            });
        }
    });
    format!("unix://{}", socket.display())
}

impl Shared {
    fn new() -> Arc<Self> {
        let orders = watch::Sender::new(Orders { fault: Fault::None, cuts: 0, releases: 0 });
        Arc::new(Self { orders, withheld: AtomicUsize::new(0), injections: Injections::default() })
    }

    async fn accept_on_port(self: Arc<Self>, door: TcpListener, server: u16) {
        while let Ok((client, _)) = door.accept().await {
            let shared = self.clone();
            tokio::spawn(async move {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                shared.carry(client, server).await;
            });
        }
    }

    async fn carry(self: Arc<Self>, client: impl carry::Stream, server: impl carry::Stream) {
        if self.orders.borrow().fault != Fault::Refuse {
            carry(client, server, self).await;
        }
    }
}
