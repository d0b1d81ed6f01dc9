//! Alternatives, and the layers below. Each is one round of the same closed loop.

mod beanstalkd;
pub mod bullmq;
pub mod empty;
mod raw;
mod webdis;

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    crowd::{Sample, Span, round},
    meter::Meter,
    rig::{client::Client, engine::Engine, stock::Numbers},
};

pub const CONNECTIONS: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Raw,
    Empty,
    Webdis,
    Beanstalkd,
    Bullmq,
}

impl Kind {
    pub const ALL: [Self; 5] = [Self::Raw, Self::Empty, Self::Webdis, Self::Beanstalkd, Self::Bullmq];

    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "bare scripts, no HTTP",
            Self::Empty => "empty axum handler × 3",
            Self::Webdis => "webdis, bare scripts",
            Self::Beanstalkd => "beanstalkd, with its log",
            Self::Bullmq => "BullMQ, in process",
        }
    }
}

/// The installed ones, started, with a shared Redis where one is needed.
pub struct Yardsticks {
    engine: Engine,
    scripts: raw::Scripts,
    empty: Server,
    webdis: Option<Server>,
    beanstalkd: Option<Server>,
}

/// A process that ends with this.
pub struct Server {
    pub child: Child,
    pub address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Yardsticks {
    pub fn start() -> Self {
        let engine = Engine::start();
        let (webdis, beanstalkd) = (webdis::start(&engine), beanstalkd::start(&engine));
        Self { scripts: raw::load(&engine), empty: empty::start(), webdis, beanstalkd, engine }
    }

    pub fn is_here(&self, kind: Kind) -> bool {
        match kind {
            Kind::Raw | Kind::Empty => true,
            Kind::Webdis => self.webdis.is_some(),
            Kind::Beanstalkd => self.beanstalkd.is_some(),
            Kind::Bullmq => bullmq::is_here(),
        }
    }

    /// One round of an installed one.
    pub async fn round(&self, kind: Kind, numbers: &Numbers, span: Span) -> Option<Sample> {
        self.engine.ask("FLUSHALL");
        let meter = |server: Option<&Server>, engine| Meter { server: server.map(|it| it.child.id()), engine };
        let of_redis = Some(&self.engine);
        Some(match kind {
            Kind::Raw => round(&mut self.raw(), numbers, &meter(None, of_redis), span).await,
            Kind::Empty => {
                let mut callers = Vec::new();
                for _ in 0..CONNECTIONS {
                    callers.push(empty::Caller(Client::to(self.empty.address).await));
                }
                round(&mut callers, numbers, &meter(Some(&self.empty), None), span).await
            }
            Kind::Webdis => {
                let server = self.webdis.as_ref()?;
                let mut callers = Vec::new();
                for _ in 0..CONNECTIONS {
                    callers.push(webdis::Caller::new(Client::to(server.address).await, &self.scripts));
                }
                round(&mut callers, numbers, &meter(Some(server), of_redis), span).await
            }
            Kind::Beanstalkd => {
                let server = self.beanstalkd.as_ref()?;
                let mut callers: Vec<_> = (0..CONNECTIONS).map(|_| beanstalkd::Caller::to(server.address)).collect();
                round(&mut callers, numbers, &meter(Some(server), None), span).await
            }
            Kind::Bullmq => bullmq::round(&self.engine, span).await?,
        })
    }

    fn raw(&self) -> Vec<raw::Caller> {
        (0..CONNECTIONS).map(|_| raw::Caller::to(&self.engine, &self.scripts)).collect()
    }
}

/// A program that listens at the given address, if installed.
fn listening(command: &mut Command, address: SocketAddr) -> Option<Server> {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let server = Server { child, address };
    let latest = Instant::now() + Duration::from_secs(5);
    while Instant::now() < latest {
        if TcpStream::connect(address).is_ok() {
            return Some(server);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// A free port.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port")
}

/// Connects with a blocking socket, because connecting is not measured.
fn nonblocking(stream: std::net::TcpStream) -> tokio::net::TcpStream {
    stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).expect("a socket");
    tokio::net::TcpStream::from_std(stream).expect("a socket")
}
