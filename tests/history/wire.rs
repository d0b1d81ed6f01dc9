//! A proxy whose connections break: a broken connection never works again.

use std::{io, path::PathBuf};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::watch,
    time::{Duration, sleep},
};

/// What happens to the open connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// Closes them.
    Cut,
    /// Closes each after so many more bytes of replies.
    CutAt(usize),
    /// Requests pass, replies do not.
    Deafen,
    /// Nothing passes for so many ms.
    Delay(u64),
}

/// The address of one end.
#[derive(Debug, Clone)]
pub enum Place {
    Socket(PathBuf),
    /// Host and port.
    Port(String, u16),
}

/// The traffic that passes, until changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    All,
    /// Requests pass, replies do not.
    Asks,
    /// Nothing passes in either direction, without notice; data in flight never arrives.
    Nothing,
}

/// The number of breaks, the last one, and the traffic that passes.
#[derive(Debug, Clone, Copy)]
struct Orders {
    breaks: u64,
    last: Option<Break>,
    passage: Passage,
}

#[derive(Clone)]
pub struct Wire(watch::Sender<Orders>);

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}
type Connection = Box<dyn Stream>;

enum Door {
    Socket(UnixListener),
    Port(TcpListener),
}

impl Wire {
    pub async fn start(here: &Place, server: Place) -> Self {
        let door = Door::open(here).await.expect("a place for the wire");
        let (orders, received) = watch::channel(Orders { breaks: 0, last: None, passage: Passage::All });
        tokio::spawn(async move {
            while let Ok(client) = door.next().await {
                tokio::spawn(carry(client, server.clone(), received.clone()));
            }
        });
        Self(orders)
    }

    pub fn suffers(&self, what: Break) {
        self.0.send_modify(|orders| (orders.breaks, orders.last) = (orders.breaks + 1, Some(what)));
    }

    pub fn lets_pass(&self, passage: Passage) {
        self.0.send_modify(|orders| orders.passage = passage);
    }
}

impl Door {
    async fn open(place: &Place) -> io::Result<Self> {
        Ok(match place {
            Place::Socket(path) => Self::Socket(UnixListener::bind(path)?),
            Place::Port(host, port) => Self::Port(TcpListener::bind((host.as_str(), *port)).await?),
        })
    }

    async fn next(&self) -> io::Result<Connection> {
        Ok(match self {
            Self::Socket(listener) => Box::new(listener.accept().await?.0),
            Self::Port(listener) => Box::new(direct(listener.accept().await?.0)),
        })
    }
}

impl Place {
    async fn reach(&self) -> io::Result<Connection> {
        Ok(match self {
            Self::Socket(path) => Box::new(UnixStream::connect(path).await?),
            Self::Port(host, port) => Box::new(direct(TcpStream::connect((host.as_str(), *port)).await?)),
        })
    }
}

/// Sends small packets at once.
fn direct(stream: TcpStream) -> TcpStream {
    let _ = stream.set_nodelay(true); // a broken connection fails later
    stream
}

async fn carry(client: Connection, server: Place, mut orders: watch::Receiver<Orders>) {
    let mut parting = orders.clone();
    let is_parted = |orders: &Orders| orders.passage == Passage::Nothing;
    let is_whole = |orders: &Orders| orders.passage != Passage::Nothing;
    if !is_parted(&orders.borrow_and_update()) {
        let Ok(server) = server.reach().await else { return };
        let (mut from_client, mut to_client) = tokio::io::split(client);
        let (mut from_server, mut to_server) = tokio::io::split(server);
        tokio::select! {
            // The connection ends in any case.
            _ = tokio::io::copy(&mut from_client, &mut to_server) => return,
            () = reply(&mut from_server, &mut to_client, orders) => return,
            _ = parting.wait_for(is_parted) => {}
        }
        let _ = parting.wait_for(is_whole).await; // it ends with its proxy
        return;
    }
    let _ = parting.wait_for(is_whole).await; // so does one that never connected
}

/// A connection that has lost part of a reply gets nothing more.
async fn reply(from: &mut ReadHalf<Connection>, to: &mut WriteHalf<Connection>, mut orders: watch::Receiver<Orders>) {
    let Orders { mut breaks, passage, .. } = *orders.borrow_and_update();
    let mut buffer = vec![0; 16 << 10];
    let (mut left, mut is_deaf) = (usize::MAX, passage == Passage::Asks);
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = orders.changed() => {
                let Orders { breaks: by_now, last, passage } = *orders.borrow_and_update();
                is_deaf |= passage == Passage::Asks;
                if by_now == breaks {
                    continue;
                }
                breaks = by_now;
                match last {
                    Some(Break::Cut) => return,
                    Some(Break::CutAt(bytes)) => left = left.min(bytes),
                    Some(Break::Deafen) => is_deaf = true,
                    Some(Break::Delay(ms)) => sleep(Duration::from_millis(ms)).await,
                    None => {}
                }
                continue;
            }
        };
        let Ok(length @ 1..) = read else { return };
        let passes = length.min(left);
        if !is_deaf && to.write_all(&buffer[..passes]).await.is_err() || passes < length {
            return;
        }
        left -= if left == usize::MAX { 0 } else { passes };
    }
}
