//! A wire between an instance and Redis that breaks as wires do: a connection that was broken never works again.

use std::path::{Path, PathBuf};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::{Duration, sleep},
};

/// What becomes of the connections that there are at that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// They are closed.
    Cut,
    /// Each is closed after so many more bytes of replies.
    CutAt(usize),
    /// What is asked is done, and nothing comes back any more.
    Deafen,
    /// Nothing passes for so many ms.
    Delay(u64),
}

/// The breaks so far, counted, and the last of them.
#[derive(Debug, Clone, Copy)]
struct Orders {
    breaks: u64,
    last: Option<Break>,
}

pub struct Wire(watch::Sender<Orders>);

impl Wire {
    pub fn start(socket: &Path, server: PathBuf) -> Self {
        let listener = UnixListener::bind(socket).expect("a socket for the wire");
        let (orders, told) = watch::channel(Orders { breaks: 0, last: None });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server.clone(), told.clone()));
            }
        });
        Self(orders)
    }

    pub fn suffers(&self, what: Break) {
        self.0.send_modify(|orders| *orders = Orders { breaks: orders.breaks + 1, last: Some(what) });
    }
}

async fn carry(client: UnixStream, server: PathBuf, mut orders: watch::Receiver<Orders>) {
    let Ok(server) = UnixStream::connect(server).await else { return };
    orders.borrow_and_update();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = ask(from_client, to_server) => {}
        () = reply(from_server, to_client, orders) => {}
    }
}

async fn ask(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let _ = tokio::io::copy(&mut from, &mut to).await; // however it ends, the connection is over
}

async fn reply(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut orders: watch::Receiver<Orders>) {
    let mut buffer = vec![0; 16 << 10];
    let (mut left, mut is_deaf) = (usize::MAX, false);
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = orders.changed() => {
                let last = orders.borrow_and_update().last;
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
