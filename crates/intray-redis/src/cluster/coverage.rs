//! Which slots no node serves, and whether any node serves its slots.

use std::{sync::Arc, time::Instant};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use redis::Cmd;

use super::{Cluster, FRESH, ask_map, slot::SLOTS, slot_map::SlotRange};
use crate::{
    fault::Fault,
    link::{CallError, Link},
};

impl Cluster {
    /// The slots that no node serves. A node's own answer counts more than what others say of its slots: a slot that was
    /// deleted at its node is still in the maps of the others. Slots of a node that does not answer are not included.
    pub(crate) async fn unserved(&self) -> Result<Vec<u16>, Fault> {
        self.primaries().await?;
        let (nodes, owners) = self.read(|map| (map.nodes.clone(), map.owners.clone()));
        let answers = join_all(nodes.iter().map(|link| async move { covered_slots(link).await.ok() })).await;
        let owner_of = |slot: u16| owners.get(usize::from(slot)).and_then(|nth| answers.get(usize::from(*nth)));
        let is_unserved = |slot: &u16| match owner_of(*slot) {
            Some(answer) => answer.as_ref().is_some_and(|covered| !covered[usize::from(*slot)]),
            None => !answers.iter().flatten().any(|covered| covered[usize::from(*slot)]),
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
        let nodes = self.read(|map| map.nodes.clone());
        let mut answers: FuturesUnordered<_> = nodes.iter().map(|link| is_serving(link, command)).collect();
        let mut serves = false;
        while let (false, Some(is_serving)) = (serves, answers.next().await) {
            serves = is_serving;
        }
        *last = Some((Instant::now(), serves));
        serves
    }
}

/// For each slot, whether any node has it by this node's map. The question does not wait behind calls.
async fn covered_slots(link: &Arc<Link>) -> Result<Vec<bool>, Fault> {
    let ranges = ask_map(link, link.checked(redis::cmd("CLUSTER").arg("SLOTS"))).await?;
    let mut covered = vec![false; SLOTS];
    for SlotRange { first, last, .. } in ranges {
        covered[usize::from(first)..=usize::from(last)].fill(true);
    }
    Ok(covered)
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
