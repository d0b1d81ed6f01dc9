//! A second instance over a wire of its own, on which the connection that hears hints is told from those that carry calls.

use std::{
    ops::Deref,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::watch,
};

use super::{Service, World, http::Client, program};

/// What becomes of the connection that hears hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ear {
    Open,
    /// It is cut, and a new one is closed as soon as it is known for what it is.
    Refused,
    /// It goes on and says nothing, and never will, nor a new one; nobody is told.
    Deaf,
}

#[derive(Debug, Clone, Copy)]
struct Orders {
    ear: Ear,
    /// Raised when the ears of the moment go deaf for good.
    deafened: u64,
    /// Calls do not pass; what Redis says does.
    hold_calls: bool,
    /// No connection lets anything pass, and nobody is told.
    frozen: bool,
}

/// An instance whose wire a story pulls at.
pub struct Wired {
    client: Client,
    orders: watch::Sender<Orders>,
    _service: Service,
}

impl Deref for Wired {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl World {
    /// Another instance, which Redis knows as a user who may do so much.
    pub async fn as_user(&self, rights: &str) -> (Service, Client) {
        let _: String = self.engine.run(&format!("ACL SETUSER app reset on nopass {rights}")).await;
        let service = self.instance_at(&self.engine.url_of("app", "any")).await;
        let client = self.client.at(service.url());
        (service, client)
    }

    async fn instance_at(&self, redis: &str) -> Service {
        let at = self.args.iter().position(|arg| arg == "--redis-url").expect("a Redis") + 1;
        let mut args = self.args.clone();
        redis.clone_into(&mut args[at]);
        Service::start(program(&args)).await
    }

    /// Another instance on the same Redis.
    pub async fn over_a_wire(&self) -> Wired {
        let socket = self.folder().join("wire.sock");
        let listener = UnixListener::bind(&socket).expect("a socket for the wire");
        let (orders, told) = watch::channel(Orders { ear: Ear::Open, deafened: 0, hold_calls: false, frozen: false });
        let server = self.engine.socket();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server.clone(), told.clone()));
            }
        });
        let service = self.instance_at(&format!("unix://{}", socket.display())).await;
        Wired { client: self.client.at(service.url()), orders, _service: service }
    }
}

impl Wired {
    pub fn ear(&self, ear: Ear) {
        self.orders.send_modify(|orders| orders.ear = ear);
    }

    /// The connection that hears hints is dead from now on, and nobody is told; a new one is well.
    pub fn deafen(&self) {
        self.orders.send_modify(|orders| orders.deafened += 1);
    }

    pub fn hold_calls(&self, hold: bool) {
        self.orders.send_modify(|orders| orders.hold_calls = hold);
    }

    pub fn freeze(&self, frozen: bool) {
        self.orders.send_modify(|orders| orders.frozen = frozen);
    }
}

/// One connection.
struct Line {
    /// It has said that it wants to hear.
    is_ear: AtomicBool,
    /// How many had been deafened before.
    born: u64,
    is_dead: AtomicBool,
}

impl Line {
    /// Notes what the orders do to it for good.
    fn is_dead(&self, orders: &Orders) -> bool {
        let dies = self.is_ear.load(Ordering::Relaxed) && (orders.ear == Ear::Deaf || orders.deafened > self.born);
        self.is_dead.fetch_or(dies, Ordering::Relaxed) || dies
    }

    fn is_refused(&self, orders: &Orders) -> bool {
        self.is_ear.load(Ordering::Relaxed) && orders.ear == Ear::Refused
    }
}

async fn carry(client: UnixStream, server: PathBuf, orders: watch::Receiver<Orders>) {
    let Ok(server) = UnixStream::connect(server).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (is_ear, is_dead, born) = (AtomicBool::new(false), AtomicBool::new(false), orders.borrow().deafened);
    let line = Line { is_ear, is_dead, born };
    let mut refusal = orders.clone();
    tokio::select! {
        () = pump(from_client, to_server, orders.clone(), &line, true) => {}
        () = pump(from_server, to_client, orders, &line, false) => {}
        _ = refusal.wait_for(|orders| line.is_refused(orders)) => {}
    }
}

/// `asks`: from the service to Redis.
async fn pump(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut orders: watch::Receiver<Orders>,
    line: &Line,
    asks: bool,
) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let packet = &buffer[..length];
        if asks && [b"HELLO".as_slice(), b"SUBSCRIBE"].iter().any(|word| holds(packet, word)) {
            line.is_ear.store(true, Ordering::Relaxed);
        }
        let is_call = asks && !line.is_ear.load(Ordering::Relaxed);
        let passes = |orders: &Orders| !(orders.frozen || orders.hold_calls && is_call);
        let Ok(now) = orders.wait_for(passes).await.map(|orders| *orders) else { return };
        if line.is_refused(&now) {
            return;
        }
        if !line.is_dead(&now) && to.write_all(packet).await.is_err() {
            return;
        }
    }
}

fn holds(packet: &[u8], word: &[u8]) -> bool {
    packet.windows(word.len()).any(|part| part == word)
}
