//! A second instance behind its own proxy, which distinguishes the hint connection from connections with calls.

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

use super::{Service, World, http::Client, program, with_default_redis_timeout};

/// State of the connection that receives hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintConnection {
    Open,
    /// It is cut, and a new one is closed as soon as it subscribes.
    Refused,
    /// Old and new hint connections stay open and deliver nothing.
    Silent,
}

#[derive(Debug, Clone, Copy)]
struct Orders {
    ear: HintConnection,
    /// Raised when the present hint connections are silenced.
    silenced: u64,
    /// Calls do not pass; what Redis says does.
    hold_calls: bool,
    /// No connection passes anything; all stay open.
    frozen: bool,
}

/// An instance behind a controllable proxy.
pub struct WiredInstance {
    client: Client,
    orders: watch::Sender<Orders>,
    _service: Service,
}

impl Deref for WiredInstance {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl World {
    /// Another instance, which Redis knows as a user who may do so much.
    pub async fn as_user(&self, rights: &str) -> (Service, Client) {
        let _: String = self.engine.run(&format!("ACL SETUSER app reset on nopass {rights}")).await;
        let service = self.instance_at(&self.engine.url_with_credentials("app", "any")).await;
        let client = self.client.at(service.url());
        (service, client)
    }

    async fn instance_at(&self, redis: &str) -> Service {
        let at = self.args.iter().position(|arg| arg == "--redis-url").expect("a Redis") + 1;
        let mut args = self.args.clone();
        redis.clone_into(&mut args[at]);
        Service::start(with_default_redis_timeout(program(&args))).await
    }

    /// Another instance on the same Redis.
    pub async fn start_wired_instance(&self) -> WiredInstance {
        let socket = self.folder().join("wire.sock");
        let listener = UnixListener::bind(&socket).expect("a socket for the wire");
        let (orders, receiver) =
            watch::channel(Orders { ear: HintConnection::Open, silenced: 0, hold_calls: false, frozen: false });
        let server = self.engine.socket();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server.clone(), receiver.clone()));
            }
        });
        let service = self.instance_at(&format!("unix://{}", socket.display())).await;
        WiredInstance { client: self.client.at(service.url()), orders, _service: service }
    }
}

impl WiredInstance {
    pub fn hint_connection(&self, set_hint_connection: HintConnection) {
        self.orders.send_modify(|orders| orders.ear = set_hint_connection);
    }

    /// Silences the present hint connection; a new one works.
    pub fn silence_hint_connections(&self) {
        self.orders.send_modify(|orders| orders.silenced += 1);
    }

    pub fn hold_calls(&self, hold: bool) {
        self.orders.send_modify(|orders| orders.hold_calls = hold);
    }

    pub fn freeze(&self, frozen: bool) {
        self.orders.send_modify(|orders| orders.frozen = frozen);
    }
}

/// One connection.
struct WireConnection {
    /// The connection has subscribed.
    carries_hints: AtomicBool,
    /// How many had been deafened before.
    born: u64,
    is_dead: AtomicBool,
}

impl WireConnection {
    /// Notes what the orders do to it for good.
    fn is_dead(&self, orders: &Orders) -> bool {
        let dies = self.carries_hints.load(Ordering::Relaxed)
            && (orders.ear == HintConnection::Silent || orders.silenced > self.born);
        self.is_dead.fetch_or(dies, Ordering::Relaxed) || dies
    }

    fn is_refused(&self, orders: &Orders) -> bool {
        self.carries_hints.load(Ordering::Relaxed) && orders.ear == HintConnection::Refused
    }
}

async fn carry(client: UnixStream, server: PathBuf, orders: watch::Receiver<Orders>) {
    let Ok(server) = UnixStream::connect(server).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (is_ear, is_dead, born) = (AtomicBool::new(false), AtomicBool::new(false), orders.borrow().silenced);
    let line = WireConnection { carries_hints: is_ear, is_dead, born };
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
    line: &WireConnection,
    from_service: bool,
) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let packet = &buffer[..length];
        if from_service && [b"HELLO".as_slice(), b"SUBSCRIBE"].iter().any(|word| contains(packet, word)) {
            line.carries_hints.store(true, Ordering::Relaxed);
        }
        let is_call = from_service && !line.carries_hints.load(Ordering::Relaxed);
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

fn contains(packet: &[u8], word: &[u8]) -> bool {
    packet.windows(word.len()).any(|part| part == word)
}
