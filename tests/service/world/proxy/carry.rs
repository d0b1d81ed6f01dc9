//! One connection through the proxy: commands one way, their replies the other, in the same order.

use std::sync::{Arc, atomic::Ordering};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, watch},
    time::{Duration, sleep},
};

use super::{Fault, Orders, Shared, injection::CallFate, resp};

/// Commands after which Redis sends messages without a request.
const PUSH_COMMANDS: [&[u8]; 4] = [b"HELLO", b"SUBSCRIBE", b"REPLCONF", b"PSYNC"];

/// What comes back for a command.
enum Expected {
    Reply(Option<CallFate>),
    /// Not from Redis.
    ErrorReply(&'static str),
    /// From now on any bytes: a subscriber receives messages without a request.
    Push,
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for T {}

pub(super) async fn carry(client: impl Stream, server: impl Stream, shared: Arc<Shared>) {
    let (from_client, to_client) = tokio::io::split(client);
    let (from_server, to_server) = tokio::io::split(server);
    let (tells, replies) = mpsc::unbounded_channel();
    let mut cut = shared.orders.subscribe();
    let before = cut.borrow_and_update().cuts;
    let asking =
        CommandPump { to: to_server, orders: shared.orders.subscribe(), shared: shared.clone(), expected: tells };
    tokio::select! {
        _ = asking.run(from_client) => {}
        _ = pump_replies(from_server, to_client, shared.orders.subscribe(), &shared, replies) => {}
        _ = cut.wait_for(|orders| orders.cuts > before) => {}
    }
}

struct CommandPump<W> {
    to: W,
    orders: watch::Receiver<Orders>,
    shared: Arc<Shared>,
    expected: mpsc::UnboundedSender<Expected>,
}

impl<W: AsyncWrite + Unpin> CommandPump<W> {
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
                let begins = resp::words(&command).first().is_some_and(|word| PUSH_COMMANDS.contains(word));
                if begins && !listens {
                    listens = true;
                    self.expected.send(Expected::Push).ok()?;
                }
                match listens {
                    true => self.to.write_all(&command).await.ok()?,
                    false => self.pass(&command).await?,
                }
            }
        }
    }

    async fn pass(&mut self, command: &[u8]) -> Option<()> {
        // Before the story learns that the call is caught, and may release it.
        let releases = self.orders.borrow().releases;
        let fate = self.shared.injections.fate_of(command);
        match fate {
            Some(CallFate::NotDelivered) => return None,
            Some(CallFate::ErrorReply(what)) => return self.expected.send(Expected::ErrorReply(what)).ok(),
            Some(CallFate::Held) => _ = self.orders.wait_for(|orders| orders.releases > releases).await.ok()?,
            Some(CallFate::CutAt(_) | CallFate::Slow(_)) | None => {}
        }
        let mut done = self.shared.injections.done.subscribe();
        let before = *done.borrow();
        self.expected.send(Expected::Reply(fate)).ok()?;
        self.to.write_all(command).await.ok()?;
        if fate == Some(CallFate::Held) {
            // The sender has gone, but Redis must still run it.
            done.wait_for(|done| *done > before).await.ok()?;
        }
        Some(())
    }
}

async fn pump_replies(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut orders: watch::Receiver<Orders>,
    shared: &Shared,
    mut replies: mpsc::UnboundedReceiver<Expected>,
) -> Option<()> {
    let mut kept = Vec::new();
    loop {
        let comes = tokio::select! {
            biased;
            Some(comes) = replies.recv() => comes,
            read = from.read_buf(&mut kept) => {
                read.ok().filter(|length| *length > 0)?;
                continue;
            }
        };
        let (reply, fate) = match comes {
            Expected::ErrorReply(what) => (format!("-{what}\r\n").into_bytes(), None),
            Expected::Reply(fate) => (next(&mut from, &mut kept).await?, fate),
            Expected::Push => loop {
                forward(&mut to, &mut orders, &kept).await?;
                kept.clear();
                from.read_buf(&mut kept).await.ok().filter(|length| *length > 0)?;
            },
        };
        if fate.is_some() {
            shared.injections.done.send_modify(|done| *done += 1);
        }
        match fate {
            Some(CallFate::CutAt(bytes)) => {
                forward(&mut to, &mut orders, &reply[..bytes.min(reply.len() - 1)]).await?;
                return None;
            }
            Some(CallFate::Slow(ms)) => sleep(Duration::from_millis(ms)).await,
            Some(CallFate::NotDelivered | CallFate::ErrorReply(_) | CallFate::Held) | None => {}
        }
        forward(&mut to, &mut orders, &reply).await?;
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

async fn forward(to: &mut (impl AsyncWrite + Unpin), orders: &mut watch::Receiver<Orders>, reply: &[u8]) -> Option<()> {
    let fault = orders.wait_for(|orders| orders.fault != Fault::Freeze).await.ok()?.fault;
    if fault != Fault::DropReplies {
        to.write_all(reply).await.ok()?;
    }
    Some(())
}
