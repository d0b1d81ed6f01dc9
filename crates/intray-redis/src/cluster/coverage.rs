//! Which slots no node serves, and whether any node serves its slots.

use std::{sync::Arc, time::Instant};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use redis::Cmd;

use super::{Cluster, FRESH, SlotMap, ask_map, slot::SLOTS, slot_map::SlotRange};
use crate::{
    fault::Fault,
    link::{CallError, Link},
};

impl Cluster {
    /// The slots that no node serves. A node's own answer counts more than what others say of its slots: a slot that was
    /// deleted at its node is still in the maps of the others. Slots of a node that does not answer are not included.
    pub(crate) async fn unserved(&self) -> Result<Vec<u16>, Fault> {
        self.primaries().await?;
        let SlotMap { nodes, owners } = self.map.read().clone();
        // A connection that no call shares: the question does not wait for other calls.
        let ask = async |link: &Arc<Link>| ask_map(link, link.checked(redis::cmd("CLUSTER").arg("SLOTS"))).await.ok();
        let answers = join_all(nodes.iter().map(ask)).await;
        let covers =
            |ranges: &Vec<SlotRange>, slot| ranges.iter().any(|range| (range.first..=range.last).contains(&slot));
        let owner_of = |slot: u16| owners.get(usize::from(slot)).and_then(|nth| answers.get(usize::from(*nth)));
        let is_unserved = |slot: &u16| match owner_of(*slot) {
            Some(answer) => answer.as_ref().is_some_and(|ranges| !covers(ranges, *slot)),
            None => !answers.iter().flatten().any(|ranges| covers(ranges, *slot)),
        };
        Ok((0..SLOTS as u16).filter(is_unserved).collect())
    }

    /// Whether any node serves, by its answer to a command on a key, which may be at any of them. Concurrent callers ask once.
    pub(crate) async fn serves(&self, command: &Cmd) -> bool {
        let mut last = self.serves.lock().await;
        if let Some((at, serves)) = *last
            && at.elapsed() < FRESH
        {
            return serves;
        }
        let nodes = self.nodes();
        let mut answers: FuturesUnordered<_> = nodes.iter().map(|link| is_serving(link, command)).collect();
        let mut serves = false;
        while let (false, Some(is_serving)) = (serves, answers.next().await) {
            serves = is_serving;
        }
        *last = Some((Instant::now(), serves));
        serves
    }
}

/// A node that redirects the call, or says that one slot has no node, serves the slots that it has.
async fn is_serving(link: &Link, command: &Cmd) -> bool {
    match link.send_plain(false, command).await {
        Ok(_) => true,
        Err(CallError::Fault(_)) => false,
        Err(CallError::Redis(e)) => match e.code() {
            Some("CLUSTERDOWN") => e.detail().is_some_and(|message| message.contains("slot not served")),
            code => matches!(code, Some("MOVED" | "ASK" | "WRONGTYPE")),
        },
    }
}
