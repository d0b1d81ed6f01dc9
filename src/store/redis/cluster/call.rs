//! A call goes to the node that has its slot, and where that one says so, to another. What was certainly not run is tried
//! again within the caller's patience; what may have been run is not.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use redis::{Cmd, RedisError, Value};

use super::{Cluster, map, slot};
use crate::store::{
    fault::{Applied, Fault},
    redis::{
        args::Args,
        link::{Link, Sent, away},
    },
    script::Script,
};

/// No try begins later: it and what comes before leave an answer in time.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// Between two tries; longer from one to the next.
const REST: Duration = Duration::from_millis(20);
const LONGEST_REST: Duration = Duration::from_millis(160);
/// So often a call follows where it is sent, before it rests: nodes that do not agree send it round and round.
const HOPS: u32 = 3;

/// What is sent.
enum Call<'c> {
    Script(&'c Script, &'c Args, &'c [&'c Args]),
    Plain(&'c Cmd),
}

/// Where to.
enum Aim {
    /// To the node that has the slot.
    Owner,
    /// To the node to which the slot is just being moved.
    Asking(Arc<Link>),
}

/// What is to be done about an error.
enum Turn {
    /// There at once.
    To(Aim),
    /// Again after a rest, by a new map if this one may be old.
    Later {
        map_is_old: bool,
    },
    Over,
}

impl Call<'_> {
    async fn over(&self, link: &Link, asking: bool) -> Result<Value, Sent> {
        match self {
            Self::Script(script, keys, items) => link.attempt(asking, script, keys, items).await,
            Self::Plain(command) => link.attempt_plain(asking, command).await,
        }
    }
}

impl Cluster {
    pub(in crate::store::redis) async fn run(
        &self,
        script: &Script,
        keys: &Args,
        items: &[&Args],
    ) -> Result<Value, Fault> {
        let slot = keys.iter().next().map(slot::of_key);
        self.send(slot, &Call::Script(script, keys, items)).await.map_err(|sent| sent.of(script))
    }

    pub(in crate::store::redis) async fn plain(&self, command: &Cmd) -> Result<Value, Fault> {
        self.send(slot::of_command(command), &Call::Plain(command)).await.map_err(Sent::fault)
    }

    /// A command to the node that has a key, whatever the command says.
    pub(in crate::store::redis) async fn plain_at(&self, key: &str, command: &Cmd) -> Result<Value, Fault> {
        self.send(Some(slot::of_key(key.as_bytes())), &Call::Plain(command)).await.map_err(Sent::fault)
    }

    /// The same over a connection that no other calls use. A node that does not have the key any more corrects the map.
    pub(in crate::store::redis) async fn checked_at(&self, key: &str, command: &Cmd) -> Result<Value, Fault> {
        let link = self.node_of(Some(slot::of_key(key.as_bytes()))).await?;
        match link.checked(command).await {
            Err(Fault::Unavailable { why, .. }) if ["MOVED", "ASK"].contains(&why.as_str()) => {
                self.plain_at(key, command).await
            }
            answer => answer,
        }
    }

    async fn send(&self, slot: Option<u16>, call: &Call<'_>) -> Result<Value, Sent> {
        let (begin, mut aim, mut hops, mut rest) = (Instant::now(), Aim::Owner, 0, REST);
        loop {
            let tried = Instant::now();
            let (link, sent) = match self.attempt(slot, &aim, call).await {
                (_, Ok(answer)) => return Ok(answer),
                (link, Err(sent)) => (link, sent),
            };
            let map_is_old = match self.turn(&sent, link.as_deref()) {
                Turn::To(next) => {
                    (aim, hops) = (next, hops + 1);
                    if hops % HOPS != 0 {
                        continue;
                    }
                    true
                }
                Turn::Later { map_is_old } => {
                    aim = Aim::Owner;
                    map_is_old
                }
                Turn::Over => return Err(sent),
            };
            if begin.elapsed() + rest >= PATIENCE {
                return Err(sent);
            }
            tokio::time::sleep(rest).await;
            if map_is_old {
                // Otherwise by the map that there is.
                let _ = tokio::time::timeout(PATIENCE.saturating_sub(begin.elapsed()), self.learn(tried)).await;
            }
            rest = LONGEST_REST.min(rest * 2);
        }
    }

    /// Also says who was asked.
    async fn attempt(&self, slot: Option<u16>, aim: &Aim, call: &Call<'_>) -> (Option<Arc<Link>>, Result<Value, Sent>) {
        let (link, asking) = match aim {
            Aim::Asking(link) => (Ok(link.clone()), true),
            Aim::Owner => (self.node_of(slot).await, false),
        };
        match link {
            Ok(link) => {
                let answer = call.over(&link, asking).await;
                (Some(link), answer)
            }
            Err(fault) => (None, Err(Sent::Fault(fault))),
        }
    }

    async fn node_of(&self, slot: Option<u16>) -> Result<Arc<Link>, Fault> {
        let Some(slot) = slot else {
            let all = self.primaries().await?;
            let well = all.iter().find(|link| !link.is_lost()).or(all.first());
            return well.cloned().ok_or_else(|| away(&"no node of the cluster is known"));
        };
        if let Some(link) = self.owner(slot) {
            return Ok(link);
        }
        self.learn(Instant::now()).await?;
        self.owner(slot).ok_or_else(|| away(&format_args!("no node of the cluster has slot {slot}")))
    }

    fn turn(&self, sent: &Sent, link: Option<&Link>) -> Turn {
        match sent {
            Sent::Fault(Fault::Unavailable { applied: Applied::No, .. }) => Turn::Later { map_is_old: true },
            Sent::Fault(Fault::Unavailable { .. } | Fault::Full | Fault::Broken(_)) => Turn::Over,
            Sent::Error(e) => self.turn_of(e, link.map(|link| link.server().host()).unwrap_or_default()),
        }
    }

    fn turn_of(&self, e: &RedisError, asked: &str) -> Turn {
        match e.code() {
            Some(code @ ("MOVED" | "ASK")) => {
                let Some((place, slot)) = e.redirect_node() else { return Turn::Over };
                let Some((host, port)) = map::place(place, asked) else { return Turn::Over };
                match self.link_to(host, port) {
                    Ok(link) if code == "ASK" => Turn::To(Aim::Asking(link)),
                    Ok(link) => {
                        self.move_slot(slot, &link);
                        Turn::To(Aim::Owner)
                    }
                    Err(_) => Turn::Over,
                }
            }
            Some("TRYAGAIN" | "LOADING") => Turn::Later { map_is_old: false },
            Some("CLUSTERDOWN" | "READONLY" | "MASTERDOWN") => Turn::Later { map_is_old: true },
            _ => {
                // Its node may be gone for good.
                if Sent::is_cut(e) {
                    self.doubted.notify_one();
                }
                Turn::Over
            }
        }
    }
}
