//! What of a cluster is served: which slots no node has, and whether any node serves those it has.

use std::{sync::Arc, time::Instant};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use redis::Cmd;

use super::{
    Cluster, FRESH,
    map::{self, Range},
    slot::SLOTS,
};
use crate::store::{
    fault::Fault,
    redis::{
        link::{Link, Sent},
        read::broken,
    },
};

impl Cluster {
    /// The slots that no node serves. What a node says of its own slots counts more than what others say of them: a slot
    /// that was deleted at its node is still there for the others. Slots of a node that is silent are not among them.
    pub(in crate::store::redis) async fn unserved(&self) -> Result<Vec<u16>, Fault> {
        self.primaries().await?;
        let (nodes, owners) = self.read(|map| (map.nodes.clone(), map.owners.clone()));
        let told = join_all(nodes.iter().map(|link| async move { listed(link).await.ok() })).await;
        let is_unserved = |slot: &u16| match owners.get(usize::from(*slot)).and_then(|nth| told.get(usize::from(*nth)))
        {
            Some(said) => said.as_ref().is_some_and(|said| !said[usize::from(*slot)]),
            None => !told.iter().flatten().any(|said| said[usize::from(*slot)]),
        };
        Ok((0..SLOTS as u16).filter(is_unserved).collect())
    }

    /// Whether any node serves, by its answer to a command on a key, which may be at any of them. A crowd asks once.
    pub(in crate::store::redis) async fn serves(&self, command: &Cmd) -> bool {
        let mut known = self.serves.lock().await;
        if let Some((at, serves)) = *known
            && at.elapsed() < FRESH
        {
            return serves;
        }
        let nodes = self.read(|map| map.nodes.clone());
        let mut answers: FuturesUnordered<_> = nodes.iter().map(|link| is_up(link, command)).collect();
        let mut serves = false;
        while let (false, Some(is_up)) = (serves, answers.next().await) {
            serves = is_up;
        }
        *known = Some((Instant::now(), serves));
        serves
    }
}

/// Each slot, and whether any node has it, as this one says. It is asked apart from calls.
async fn listed(link: &Arc<Link>) -> Result<Vec<bool>, Fault> {
    let answer = link.checked(redis::cmd("CLUSTER").arg("SLOTS")).await?;
    let ranges = map::read(&answer, link.server().host()).ok_or_else(|| broken("CLUSTER SLOTS"))?;
    let mut all = vec![false; SLOTS];
    ranges.iter().for_each(|Range { first, last, .. }| all[usize::from(*first)..=usize::from(*last)].fill(true));
    Ok(all)
}

/// A node that sends a call elsewhere, or says that one slot has no node, serves the slots that it has.
async fn is_up(link: &Link, command: &Cmd) -> bool {
    match link.attempt_plain(false, command).await {
        Ok(_) => true,
        Err(Sent::Fault(_)) => false,
        Err(Sent::Error(e)) => match e.code() {
            Some("CLUSTERDOWN") => e.detail().is_some_and(|said| said.contains("slot not served")),
            code => matches!(code, Some("MOVED" | "ASK" | "WRONGTYPE")),
        },
    }
}
