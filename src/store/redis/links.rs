//! Where calls go: to the one server there is, or to the node of a cluster that has their keys.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use redis::Value;
use tokio_util::sync::CancellationToken;

use super::{
    args::Args,
    cluster::{Cluster, slot},
    link::{Durability, Link, Room, away},
    mark::Mark,
    server::{Server, Servers},
};
use crate::store::{
    fault::Fault,
    script::{Script, Scripts},
};

pub(crate) enum Links {
    One(Arc<Link>),
    Cluster(Box<Cluster>),
}

impl Links {
    pub(crate) fn new(
        servers: Servers,
        (room, durability): (Option<Room>, Durability),
        scripts: &Scripts,
        nowhere: &str,
    ) -> Self {
        match servers {
            Servers::One(server) => Self::One(Arc::new(Link::new(*server, (room, durability), scripts, nowhere))),
            Servers::Cluster(seeds) => Self::Cluster(Box::new(Cluster::new(seeds, &durability, scripts, nowhere))),
        }
    }

    /// Runs a script, for one item or several.
    pub(crate) async fn run(&self, script: &Script, keys: &Args, items: &[&Args]) -> Result<Value, Fault> {
        match self {
            Self::One(link) => link.run(script, keys, items).await,
            Self::Cluster(cluster) => apart(cluster.run(script, keys, items)).await,
        }
    }

    /// A plain command.
    pub(crate) async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        match self {
            Self::One(link) => link.plain(command).await,
            Self::Cluster(cluster) => apart(cluster.plain(command)).await,
        }
    }

    /// A plain command that names no key, at the server that has this one.
    pub(crate) async fn plain_at(&self, key: &str, command: &redis::Cmd) -> Result<Value, Fault> {
        match self {
            Self::One(link) => link.plain(command).await,
            Self::Cluster(cluster) => apart(cluster.plain_at(key, command)).await,
        }
    }

    /// A plain command over a connection that no other calls use, which it therefore does not wait behind: for health.
    pub(crate) async fn checked(&self, key: &str, command: &redis::Cmd) -> Result<Value, Fault> {
        match self {
            Self::One(link) => link.checked(command).await,
            Self::Cluster(cluster) => apart(cluster.checked_at(key, command)).await,
        }
    }

    /// What a script's failure was, truly.
    pub(crate) async fn explained(&self, fault: Fault, registry: &str) -> Fault {
        if !Link::is_odd(&fault) {
            return fault;
        }
        match self.plain(redis::cmd("ZCARD").arg(registry)).await {
            Err(wrong) => match self.mark_in(registry).await {
                Some(mark) => away(&mark.says()),
                None => Link::explained(fault, &wrong),
            },
            Ok(_) => fault,
        }
    }

    /// What stands in the registry's place when its queues are elsewhere; nothing where that may not be asked.
    async fn mark_in(&self, registry: &str) -> Option<Mark> {
        let mut command = redis::cmd("GETRANGE");
        command.arg(registry).arg(0).arg(Mark::HEAD);
        match self.plain(&command).await.ok()? {
            Value::BulkString(text) => Mark::parse(&String::from_utf8_lossy(&text)),
            _ => None,
        }
    }

    /// Every server that keeps jobs.
    pub(crate) async fn all(&self) -> Result<Vec<Arc<Link>>, Fault> {
        match self {
            Self::One(link) => Ok(vec![link.clone()]),
            Self::Cluster(cluster) => apart(cluster.primaries()).await,
        }
    }

    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Slots of a cluster that no node serves, and how many slots there are.
    pub(crate) async fn unserved(&self) -> Result<(Vec<u16>, usize), Fault> {
        match self {
            Self::One(_) => Ok((Vec::new(), slot::SLOTS)),
            Self::Cluster(cluster) => Ok((apart(cluster.unserved()).await?, slot::SLOTS)),
        }
    }

    /// Whether any of several servers serves its queues; of one server alone a fault says that it does not.
    pub(crate) async fn any_serves(&self, registry: &str) -> bool {
        match self {
            Self::One(_) => false,
            Self::Cluster(cluster) => apart(cluster.serves(redis::cmd("ZCARD").arg(registry))).await,
        }
    }

    pub(crate) fn slot(&self, key: &str) -> u16 {
        slot::of_key(key.as_bytes())
    }

    /// Which of the servers has a key; one that nobody has says so by a number of its own.
    pub(crate) fn shard(&self, key: &str) -> u16 {
        match self {
            Self::One(_) => 0,
            Self::Cluster(cluster) => cluster.shard(slot::of_key(key.as_bytes())),
        }
    }

    /// The node that has a key is known to be away: whoever can do without it does not wait for it. Of one server alone
    /// nobody can do without.
    pub(crate) fn is_lost(&self, key: &str) -> bool {
        match self {
            Self::One(_) => false,
            Self::Cluster(cluster) => cluster.owner(slot::of_key(key.as_bytes())).is_some_and(|link| link.is_lost()),
        }
    }

    /// Where hints can be heard, whoever publishes them: any of these will do, and each time another is the first.
    pub(crate) fn ears(&self) -> Vec<Server> {
        let of = |link: &Arc<Link>| link.server().clone();
        match self {
            Self::One(link) => vec![of(link)],
            Self::Cluster(cluster) => cluster.ears().iter().map(of).collect(),
        }
    }

    /// Whether it is one of these: nothing is published to a node that has left its cluster.
    pub(crate) fn is_ear(&self, server: &Server) -> bool {
        let Self::Cluster(cluster) = self else { return true };
        let place = server.place();
        cluster.ears().iter().any(|link| link.place() == place)
    }

    /// Whether two keys are sure to be at one server, so that one command may name both.
    pub(crate) fn share_a_server(&self, one: &str, other: &str) -> bool {
        !self.is_cluster() || slot::of_key(one.as_bytes()) == slot::of_key(other.as_bytes())
    }

    /// Open connections, and how many there may be.
    pub(crate) fn connections(&self) -> (usize, usize) {
        match self {
            Self::One(link) => link.connections(),
            Self::Cluster(cluster) => cluster
                .everybody()
                .iter()
                .map(|link| link.connections())
                .fold((0, 0), |(open, most), (o, m)| (open + o, most + m)),
        }
    }

    /// What a primary that sentinels name lacks of what the one before it had; nothing at all of one that never moves.
    pub(crate) fn lacks(&self) -> Option<Option<String>> {
        match self {
            Self::One(link) => link.lacks(),
            Self::Cluster(_) => None,
        }
    }

    pub(crate) fn knows_its_room(&self) -> bool {
        match self {
            Self::One(link) => link.knows_its_room(),
            Self::Cluster(_) => false,
        }
    }

    /// Why nothing new can be stored.
    pub(crate) fn shortage(&self) -> Option<String> {
        match self {
            Self::One(link) => link.shortage(),
            Self::Cluster(_) => None,
        }
    }

    /// Looks after the connections until it is stopped.
    pub(crate) async fn mind(&self, stop: CancellationToken) {
        match self {
            Self::One(link) => link.mind(stop).await,
            Self::Cluster(cluster) => cluster.mind(stop).await,
        }
    }

    /// Calls the library at every server, lest the first caller waits for its modules to be built.
    pub(in crate::store) async fn try_library(&self) {
        let all = self.all().await.unwrap_or_default();
        futures_util::future::join_all(all.iter().map(|link| link.try_library())).await;
    }

    /// From now on calls go out in this form, without a word about it.
    #[cfg(test)]
    pub(in crate::store) fn use_library(&self, is_used: bool) {
        match self {
            Self::One(link) => link.use_library(is_used),
            Self::Cluster(_) => unreachable!("the tests of forms have one server"),
        }
    }
}

/// What a cluster takes besides lies apart, lest every call is as large.
fn apart<'c, T>(call: impl Future<Output = T> + Send + 'c) -> BoxFuture<'c, T> {
    Box::pin(call)
}
