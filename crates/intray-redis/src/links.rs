//! Sends calls to the one server, or to the cluster node that has their keys.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use redis::{FromRedisValue, Value, from_redis_value};
use tokio_util::sync::CancellationToken;

use crate::{
    args::Args,
    cluster::{Cluster, slot},
    fault::Fault,
    link::{CallError, DiskShortage, Durability, Link},
    log_limiter::LogLimiter,
    script::{Library, Script, ScriptCall},
    server::{Server, Servers},
    timeouts::Timeouts,
};

pub enum Links {
    One(Arc<Link>),
    Cluster(Box<Cluster>),
}

impl Links {
    /// Connects on the first call. `disk` is for a private server alone.
    pub fn new(
        servers: Servers,
        timeouts: Timeouts,
        disk: Option<DiskShortage>,
        durability: Durability,
        library: Library,
        log_limiter: Arc<LogLimiter>,
    ) -> Self {
        let shared = (Arc::new(library), log_limiter);
        match servers {
            Servers::One(server) => Self::One(Arc::new(Link::new(*server, timeouts, disk, durability, shared))),
            Servers::Cluster(seeds) => Self::Cluster(Box::new(Cluster::new(seeds, timeouts, &durability, &shared))),
        }
    }

    pub fn timeouts(&self) -> Timeouts {
        match self {
            Self::One(link) => link.timeouts(),
            Self::Cluster(cluster) => cluster.timeouts(),
        }
    }

    /// Runs a script, for one item or several.
    ///
    /// # Errors
    /// If the script fails, or its change is not as durable as required.
    pub async fn run(&self, script: &dyn Script, keys: &Args, items: &[&Args]) -> Result<Value, Fault> {
        let call = ScriptCall { script, keys, items };
        let answer = match self {
            Self::One(link) => link.run(false, call).await,
            Self::Cluster(cluster) => boxed(cluster.run(call)).await,
        };
        answer.map_err(|e: CallError| e.into_script_fault(script))
    }

    /// Sends a plain command.
    ///
    /// # Errors
    /// If Redis does not answer or refuses.
    pub async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        match self {
            Self::One(link) => link.plain(command).await,
            Self::Cluster(cluster) => boxed(cluster.plain(slot::of_command(command), command)).await,
        }
    }

    /// Sends a plain command, and converts its reply.
    ///
    /// # Errors
    /// If Redis does not answer or refuses, or the reply is no `T`.
    pub async fn ask<T: FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, Fault> {
        parse_reply(self.plain(command).await?)
    }

    /// Sends a plain command that names no key to the server that has `key`.
    ///
    /// # Errors
    /// If Redis does not answer or refuses.
    pub async fn plain_at(&self, key: &str, command: &redis::Cmd) -> Result<Value, Fault> {
        match self {
            Self::One(link) => link.plain(command).await,
            Self::Cluster(cluster) => boxed(cluster.plain(Some(self.slot(key)), command)).await,
        }
    }

    /// Sends a plain command over a connection that no call shares, so that a health check does not wait for other calls.
    ///
    /// # Errors
    /// If Redis does not answer or refuses.
    pub async fn checked(&self, key: &str, command: &redis::Cmd) -> Result<Value, Fault> {
        match self {
            Self::One(link) => link.checked(command).await,
            Self::Cluster(cluster) => boxed(cluster.checked_at(key, command)).await,
        }
    }

    /// Every server that has keys.
    ///
    /// # Errors
    /// If no node of the cluster names the others.
    pub async fn all(&self) -> Result<Vec<Arc<Link>>, Fault> {
        match self {
            Self::One(link) => Ok(vec![link.clone()]),
            Self::Cluster(cluster) => boxed(cluster.primaries()).await,
        }
    }

    /// A server refuses this client, or this client its certificate: only other settings help.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::One(link) => link.is_refused(),
            Self::Cluster(cluster) => cluster.nodes_and_seeds().iter().any(|link| link.is_refused()),
        }
    }

    /// The first key of those that `name` makes of a number that this server has; `None` if none of many is its.
    pub fn key_at(&self, link: &Arc<Link>, name: impl Fn(usize) -> String) -> Option<String> {
        let Self::Cluster(cluster) = self else { return Some(name(0)) };
        let is_there = |key: &String| cluster.owner(self.slot(key)).is_some_and(|owner| Arc::ptr_eq(&owner, link));
        (0..4 * slot::SLOTS).map(name).find(is_there)
    }

    pub fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// The cluster slots that no node serves, and how many slots there are.
    ///
    /// # Errors
    /// If no node of the cluster names the others.
    pub async fn unserved(&self) -> Result<(Vec<u16>, usize), Fault> {
        let Self::Cluster(cluster) = self else { return Ok((Vec::new(), slot::SLOTS)) };
        Ok((boxed(cluster.unserved()).await?, slot::SLOTS))
    }

    /// Whether any node of the cluster serves its slots; `key` may be at any of them. False for a single server, whose
    /// faults concern all keys.
    pub async fn any_serves(&self, key: &str) -> bool {
        let Self::Cluster(cluster) = self else { return false };
        boxed(cluster.serves(redis::cmd("ZCARD").arg(key))).await
    }

    pub fn slot(&self, key: &str) -> u16 {
        slot::of_key(key.as_bytes())
    }

    /// The number of the server that has a key; slots without a node have a number of their own.
    pub fn shard(&self, key: &str) -> u16 {
        let Self::Cluster(cluster) = self else { return 0 };
        cluster.shard(self.slot(key))
    }

    /// The cluster node that has the key did not answer its last call, so that a caller may prefer not to wait for it. Always
    /// false for a single server, which has no substitute.
    pub fn is_lost(&self, key: &str) -> bool {
        let Self::Cluster(cluster) = self else { return false };
        cluster.owner(self.slot(key)).is_some_and(|link| link.is_lost())
    }

    /// The servers to subscribe at. A cluster passes messages on to all its nodes, so any of them will do; each call starts
    /// with another one.
    pub fn pubsub_nodes(&self) -> Vec<Server> {
        let server = |link: &Arc<Link>| link.server().clone();
        match self {
            Self::One(link) => vec![server(link)],
            Self::Cluster(cluster) => cluster.pubsub_nodes().iter().map(server).collect(),
        }
    }

    /// False for a node that has left the cluster and therefore receives no messages.
    pub fn is_pubsub_node(&self, server: &Server) -> bool {
        let Self::Cluster(cluster) = self else { return true };
        let name = server.name();
        cluster.pubsub_nodes().iter().any(|link| link.name() == name)
    }

    /// Whether one command may name both keys.
    pub fn share_a_slot(&self, one: &str, other: &str) -> bool {
        !self.is_cluster() || self.slot(one) == self.slot(other)
    }

    /// The number of open connections, and their maximum.
    pub fn connections(&self) -> (usize, usize) {
        let links = match self {
            Self::One(link) => vec![link.clone()],
            Self::Cluster(cluster) => cluster.nodes_and_seeds(),
        };
        links.iter().map(|link| link.connections()).fold((0, 0), |(open, max), (o, m)| (open + o, max + m))
    }

    /// What the primary lacks of the previous one's changes; `None` without sentinels.
    pub fn replication_gap(&self) -> Option<Option<String>> {
        self.one()?.replication_gap()
    }

    pub fn has_private_disk(&self) -> bool {
        self.one().is_some_and(|link| link.has_private_disk())
    }

    /// Why nothing new can be stored.
    pub fn disk_shortage(&self) -> Option<String> {
        self.one()?.disk_shortage()
    }

    /// Keeps the connections usable until `stop`.
    pub async fn maintain(&self, stop: CancellationToken) {
        let maintaining = async {
            match self {
                Self::One(link) => link.maintain().await,
                Self::Cluster(cluster) => cluster.maintain().await,
            }
        };
        stop.run_until_cancelled(maintaining).await;
    }

    /// Calls the library at every server, so that the first caller does not wait until its modules are built.
    pub async fn try_library(&self) {
        let all = self.all().await.unwrap_or_default();
        futures_util::future::join_all(all.iter().map(|link| link.try_library())).await;
    }

    /// From now on a single server's scripts are called as functions of the library, or by EVALSHA. For tests.
    pub fn use_library(&self, is_used: bool) {
        if let Some(link) = self.one() {
            link.use_library(is_used);
        }
    }

    fn one(&self) -> Option<&Link> {
        match self {
            Self::One(link) => Some(link),
            Self::Cluster(_) => None,
        }
    }
}

/// Converts the reply of a plain command.
///
/// # Errors
/// If the reply is no `T`.
pub fn parse_reply<T: FromRedisValue>(reply: Value) -> Result<T, Fault> {
    from_redis_value(reply).map_err(|e| Fault::Broken(e.to_string()))
}

/// Boxed, so that calls to a single server do not carry the state of a cluster's.
fn boxed<'c, T>(call: impl Future<Output = T> + Send + 'c) -> BoxFuture<'c, T> {
    Box::pin(call)
}
