//! One connection through the proxy: commands one way, their replies the other, in the same order.

use std::sync::{Arc, atomic::Ordering};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, watch},
    time::{Duration, sleep},
};

use super::{Fault, Orders, Shared, resp, trap::Fate};

/// Whoever says this hears things without asking from then on.
const LISTENING: [&[u8]; 4] = [b"HELLO", b"SUBSCRIBE", b"REPLCONF", b"PSYNC"];

/// What comes back for a command.
enum Comes {
    Reply(Option<Fate>),
    /// Not from Redis.
    This(&'static str),
    /// From now on whatever Redis says: who listens is told things without asking.
    Anything,
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for T {}

pub(super) async fn carry(client: impl Stream, server: impl Stream, shared: Arc<Shared>) {
    let (from_client, to_client) = tokio::io::split(client);
    let (from_server, to_server) = tokio::io::split(server);
    let (tells, told) = mpsc::unbounded_channel();
    let mut cut = shared.orders.subscribe();
    let before = cut.borrow_and_update().cuts;
    let asking = Asking { to: to_server, orders: shared.orders.subscribe(), shared: shared.clone(), tells };
    tokio::select! {
        _ = asking.run(from_client) => {}
        _ = reply(from_server, to_client, shared.orders.subscribe(), &shared, told) => {}
        _ = cut.wait_for(|orders| orders.cuts > before) => {}
    }
}

struct Asking<W> {
    to: W,
    orders: watch::Receiver<Orders>,
    shared: Arc<Shared>,
    tells: mpsc::UnboundedSender<Comes>,
}

impl<W: AsyncWrite + Unpin> Asking<W> {
    /// None when the connection is to end.
    async fn run(mut self, mut from: impl AsyncRead + Unpin) -> Option<()> {
        let (mut kept, mut listens) = (Vec::new(), false);
        loop {
            from.read_buf(&mut kept).await.ok().filter(|length| *length > 0)?;
            self.shared.withheld.fetch_add(1, Ordering::Relaxed);
            self.orders.wait_for(|orders| orders.fault != Fault::Freeze).await.ok()?;
            self.shared.withheld.fetch_sub(1, Ordering::Relaxed);
            while let Some(length) = resp::length(&kept) {
                let command: Vec<u8> = kept.drain(..length).collect();
                let begins = resp::words(&command).first().is_some_and(|word| LISTENING.contains(word));
                if begins && !listens {
                    listens = true;
                    self.tells.send(Comes::Anything).ok()?;
                }
                match listens {
                    true => self.to.write_all(&command).await.ok()?,
                    false => self.pass(&command).await?,
                }
            }
        }
    }

    async fn pass(&mut self, command: &[u8]) -> Option<()> {
        let fate = self.shared.traps.fate_of(command);
        match fate {
            Some(Fate::Lost) => return None,
            Some(Fate::Answered(what)) => return self.tells.send(Comes::This(what)).ok(),
            Some(Fate::Held) => {
                let now = self.orders.borrow().let_go;
                self.orders.wait_for(|orders| orders.let_go > now).await.ok()?;
            }
            Some(Fate::CutAt(_) | Fate::Slow(_)) | None => {}
        }
        let mut done = self.shared.traps.done.subscribe();
        let before = *done.borrow();
        self.tells.send(Comes::Reply(fate)).ok()?;
        self.to.write_all(command).await.ok()?;
        if fate == Some(Fate::Held) {
            // Whoever sent it has gone, and it is done all the same.
            done.wait_for(|done| *done > before).await.ok()?;
        }
        Some(())
    }
}

async fn reply(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut orders: watch::Receiver<Orders>,
    shared: &Shared,
    mut told: mpsc::UnboundedReceiver<Comes>,
) -> Option<()> {
    let mut kept = Vec::new();
    loop {
        let comes = tokio::select! {
            biased;
            Some(comes) = told.recv() => comes,
            read = from.read_buf(&mut kept) => {
                read.ok().filter(|length| *length > 0)?;
                continue;
            }
        };
        let (reply, fate) = match comes {
            Comes::This(what) => (format!("-{what}\r\n").into_bytes(), None),
            Comes::Reply(fate) => (next(&mut from, &mut kept).await?, fate),
            Comes::Anything => loop {
                passed(&mut to, &mut orders, &kept).await?;
                kept.clear();
                from.read_buf(&mut kept).await.ok().filter(|length| *length > 0)?;
            },
        };
        if fate.is_some() {
            shared.traps.done.send_modify(|done| *done += 1);
        }
        match fate {
            Some(Fate::CutAt(bytes)) => {
                passed(&mut to, &mut orders, &reply[..bytes.min(reply.len() - 1)]).await?;
                return None;
            }
            Some(Fate::Slow(ms)) => sleep(Duration::from_millis(ms)).await,
            Some(Fate::Lost | Fate::Answered(_) | Fate::Held) | None => {}
        }
        passed(&mut to, &mut orders, &reply).await?;
    }
}

/// The next of Redis's replies.
async fn next(from: &mut (impl AsyncRead + Unpin), kept: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(length) = resp::length(kept) {
            return Some(kept.drain(..length).collect());
        }
        from.read_buf(kept).await.ok().filter(|length| *length > 0)?;
    }
}

async fn passed(to: &mut (impl AsyncWrite + Unpin), orders: &mut watch::Receiver<Orders>, reply: &[u8]) -> Option<()> {
    let fault = orders.wait_for(|orders| orders.fault != Fault::Freeze).await.ok()?.fault;
    if fault != Fault::DropReplies {
        to.write_all(reply).await.ok()?;
    }
    Some(())
}
