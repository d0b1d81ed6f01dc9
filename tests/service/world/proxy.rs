//! Stands between the service and Redis, and breaks what it is told to break.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream, unix::OwnedReadHalf, unix::OwnedWriteHalf},
    sync::watch,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// None: everything passes.
    None,
    /// Connections are closed as soon as they are made; the open ones stay.
    Refuse,
    /// Nothing passes, in either direction, and nobody is told.
    Freeze,
    /// Requests pass, replies are thrown away.
    DropReplies,
}

#[derive(Debug, Clone, Copy)]
struct Orders {
    fault: Fault,
    /// Raised with each cut.
    cuts: u64,
}

pub struct Proxy {
    socket: PathBuf,
    /// Packets that do not pass because of a freeze.
    withheld: Arc<AtomicUsize>,
    orders: watch::Sender<Orders>,
}

impl Proxy {
    pub fn start(folder: &Path, server: PathBuf) -> Self {
        let socket = folder.join("proxy.sock");
        let listener = UnixListener::bind(&socket).expect("a socket for the proxy");
        let withheld = Arc::new(AtomicUsize::new(0));
        let counter = withheld.clone();
        let (orders, told) = watch::channel(Orders { fault: Fault::None, cuts: 0 });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if told.borrow().fault != Fault::Refuse {
                    tokio::spawn(carry(client, server.clone(), told.clone(), counter.clone()));
                }
            }
        });
        Self { socket, withheld, orders }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Something that was sent has come as far as this and no further.
    pub fn withholds(&self) -> bool {
        self.withheld.load(Ordering::Relaxed) > 0
    }

    pub fn now(&self, fault: Fault) {
        self.orders.send_modify(|orders| orders.fault = fault);
    }

    /// Closes every open connection, in the middle of whatever it is doing.
    pub fn cut(&self) {
        self.orders.send_modify(|orders| orders.cuts += 1);
    }
}

async fn carry(client: UnixStream, server: PathBuf, orders: watch::Receiver<Orders>, withheld: Arc<AtomicUsize>) {
    let Ok(server) = UnixStream::connect(server).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut cut = orders.clone();
    let before = cut.borrow_and_update().cuts;
    tokio::select! {
        () = pump(from_client, to_server, orders.clone(), Some(&withheld)) => {}
        () = pump(from_server, to_client, orders, None) => {}
        _ = cut.wait_for(|orders| orders.cuts > before) => {}
    }
}

/// `withheld` is there for requests, and not for replies.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut orders: watch::Receiver<Orders>,
    withheld: Option<&AtomicUsize>,
) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if let Some(withheld) = withheld {
            withheld.fetch_add(1, Ordering::Relaxed);
        }
        let Ok(fault) = orders.wait_for(|orders| orders.fault != Fault::Freeze).await.map(|orders| orders.fault) else {
            return;
        };
        if let Some(withheld) = withheld {
            withheld.fetch_sub(1, Ordering::Relaxed);
        }
        if fault == Fault::DropReplies && withheld.is_none() {
            continue;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
