//! Sends a call to the node that has its slot, and follows redirections. A call that was certainly not run is retried while
//! there is time for an answer; one that may have been run is not.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use redis::{Cmd, RedisError, Value};

use super::{Cluster, slot, slot_map};
use crate::{
    fault::{Applied, Fault},
    link::{CallError, Link, is_cut},
    script::ScriptCall,
};

/// The pause between two tries doubles from this to [`MAX_BACKOFF`].
const MIN_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_millis(160);
/// Redirections that are followed without a pause: nodes that disagree redirect in a circle.
const MAX_REDIRECTIONS: u32 = 3;

enum ClusterCommand<'c> {
    Script(ScriptCall<'c>),
    Plain(&'c Cmd),
}

/// What follows an error.
enum ClusterStep {
    /// Try at once: the node to which the slot is being migrated, or the one that has it.
    Redirect(Option<Arc<Link>>),
    /// Try again after a pause, with a new map if this one may be outdated.
    Retry {
        map_is_old: bool,
    },
    Fail,
}

impl ClusterCommand<'_> {
    async fn send(&self, link: &Link, asking: bool) -> Result<Value, CallError> {
        match self {
            Self::Script(call) => link.run(asking, *call).await,
            Self::Plain(command) => link.send_plain(asking, command).await,
        }
    }
}

impl Cluster {
    pub(crate) async fn run(&self, call: ScriptCall<'_>) -> Result<Value, CallError> {
        let slot = call.keys.iter().next().map(slot::of_key);
        self.send(slot, &ClusterCommand::Script(call)).await
    }

    pub(crate) async fn plain(&self, slot: Option<u16>, command: &Cmd) -> Result<Value, Fault> {
        self.send(slot, &ClusterCommand::Plain(command)).await.map_err(CallError::into_fault)
    }

    /// Over a connection that no call shares. If the node no longer has the slot, a shared connection is used, which corrects
    /// the map.
    pub(crate) async fn checked_at(&self, key: &str, command: &Cmd) -> Result<Value, Fault> {
        let slot = Some(slot::of_key(key.as_bytes()));
        let link = self.node_of(slot).await?;
        match link.checked(command).await {
            Err(Fault::Unavailable { why, .. }) if ["MOVED", "ASK"].contains(&why.as_str()) => {
                self.plain(slot, command).await
            }
            answer => answer,
        }
    }

    async fn send(&self, slot: Option<u16>, command: &ClusterCommand<'_>) -> Result<Value, CallError> {
        let (start, mut importing, mut redirections, mut backoff) = (Instant::now(), None, 0, MIN_BACKOFF);
        // No retry begins later, so that the answer comes in time.
        let retry_for = self.timeouts.ahead_of_response();
        loop {
            let (tried, asking) = (Instant::now(), importing.is_some());
            let link = match importing.take() {
                Some(link) => Ok(link),
                None => self.node_of(slot).await,
            };
            let (error, host) = match &link {
                Ok(link) => match command.send(link, asking).await {
                    Ok(answer) => return Ok(answer),
                    Err(error) => (error, link.server().host()),
                },
                Err(fault) => (fault.clone().into(), ""),
            };
            let map_is_old = match self.next_step(&error, host) {
                ClusterStep::Redirect(next) => {
                    (importing, redirections) = (next, redirections + 1);
                    if redirections % MAX_REDIRECTIONS != 0 {
                        continue;
                    }
                    true
                }
                ClusterStep::Retry { map_is_old } => map_is_old,
                ClusterStep::Fail => return Err(error),
            };
            if start.elapsed() + backoff >= retry_for {
                return Err(error);
            }
            tokio::time::sleep(backoff).await;
            if map_is_old {
                // Without an answer the old map is used.
                let _ = tokio::time::timeout(retry_for.saturating_sub(start.elapsed()), self.learn(tried)).await;
            }
            backoff = MAX_BACKOFF.min(backoff * 2);
        }
    }

    async fn node_of(&self, slot: Option<u16>) -> Result<Arc<Link>, Fault> {
        let Some(slot) = slot else {
            let all = self.primaries().await?;
            let reachable = all.iter().find(|link| !link.is_lost()).or(all.first());
            return reachable.cloned().ok_or_else(|| Fault::unavailable(&"no node of the cluster is known"));
        };
        if let Some(link) = self.owner(slot) {
            return Ok(link);
        }
        self.learn(Instant::now()).await?;
        self.owner(slot).ok_or_else(|| Fault::unavailable(&format_args!("no node of the cluster has slot {slot}")))
    }

    fn next_step(&self, error: &CallError, asked_host: &str) -> ClusterStep {
        let e = match error {
            CallError::Fault(Fault::Unavailable { applied: Applied::No, .. }) => {
                return ClusterStep::Retry { map_is_old: true };
            }
            CallError::Fault(Fault::Unavailable { .. } | Fault::Full(_) | Fault::Broken(_)) => {
                return ClusterStep::Fail;
            }
            CallError::Redis(e) => e,
        };
        match e.code() {
            Some("MOVED" | "ASK") => self.redirect(e, asked_host).unwrap_or(ClusterStep::Fail),
            Some("TRYAGAIN" | "LOADING") => ClusterStep::Retry { map_is_old: false },
            Some("CLUSTERDOWN" | "READONLY" | "MASTERDOWN") => ClusterStep::Retry { map_is_old: true },
            _ => {
                // The node may be gone for good.
                if is_cut(e) {
                    self.map_doubted.notify_one();
                }
                ClusterStep::Fail
            }
        }
    }

    fn redirect(&self, e: &RedisError, asked_host: &str) -> Option<ClusterStep> {
        let (address, slot) = e.redirect_node()?;
        let (host, port) = slot_map::address(address, asked_host)?;
        let link = self.link_to(host, port).ok()?;
        if e.code() == Some("ASK") {
            return Some(ClusterStep::Redirect(Some(link)));
        }
        self.move_slot(slot, &link);
        Some(ClusterStep::Redirect(None))
    }
}
