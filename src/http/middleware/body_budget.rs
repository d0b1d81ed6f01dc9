//! Limits the memory held by request bodies: in total, and per client for callers without a credential. Bytes count as
//! they arrive, so that a large `Content-Length` alone reserves nothing.

use std::{collections::HashMap, hash::Hash, sync::Arc, time::Instant};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use crate::{
    access::{Access, Caller},
    http::{
        middleware::client_ip::{ClientIp, Clients},
        response::problem::Problem,
    },
    job::limits,
    shares,
};

/// Bytes that are reserved now.
#[derive(Default)]
struct PoolUsage {
    known: usize,
    /// By account, for callers with a credential.
    by_payer: HashMap<Arc<str>, usize>,
    strangers: usize,
    /// By address, for callers without one.
    by_peer: HashMap<ClientIp, usize>,
}

/// The memory for bodies; a cheap handle.
#[derive(Clone)]
pub struct MemoryPool {
    spent: Arc<Mutex<PoolUsage>>,
    access: Access,
}

/// Which limits a body falls under.
#[derive(Clone)]
enum BodyClass {
    /// A valid credential, or no access control: the limit of its account.
    Authenticated(Option<Caller>),
    Anonymous(ClientIp, Clients),
}

/// The budget of one request, which authorization creates.
#[derive(Clone)]
pub struct BodyBudget {
    bodies: MemoryPool,
    payer: BodyClass,
}

/// Bytes reserved for one body, until this is dropped.
pub struct ReservedBytes {
    budget: BodyBudget,
    /// The account, once bytes are reserved.
    payer: Option<Arc<str>>,
    bytes: usize,
}

impl MemoryPool {
    pub fn new(access: Access) -> Self {
        Self { spent: Arc::default(), access }
    }
}

impl BodyBudget {
    /// `caller` is `None` without access control.
    pub fn authenticated(bodies: &MemoryPool, caller: Option<Caller>) -> Self {
        Self { bodies: bodies.clone(), payer: BodyClass::Authenticated(caller) }
    }

    pub fn anonymous(bodies: &MemoryPool, peer: ClientIp, peers: &Clients) -> Self {
        Self { bodies: bodies.clone(), payer: BodyClass::Anonymous(peer, peers.clone()) }
    }

    /// The largest body, in bytes.
    pub fn max_bytes(&self) -> usize {
        match self.payer {
            BodyClass::Authenticated(_) => limits::BODY,
            BodyClass::Anonymous(..) => limits::ANONYMOUS_BODY,
        }
    }

    pub fn reserve(&self) -> ReservedBytes {
        ReservedBytes { budget: self.clone(), payer: None, bytes: 0 }
    }
}

impl ReservedBytes {
    /// Waits until earlier calls of a client with too many failed attempts are done.
    pub async fn failure_permit(&self) -> Option<OwnedMutexGuard<()>> {
        match &self.budget.payer {
            BodyClass::Authenticated(_) => None,
            BodyClass::Anonymous(peer, peers) => peers.turn(*peer, Instant::now()).await,
        }
    }

    /// Reserves memory for a body of `size` bytes. A small one is free, because the connection's buffer holds it
    /// anyway: small calls pass however much others have reserved.
    ///
    /// # Errors
    /// A problem, when a limit is reached.
    pub fn grow(&mut self, size: usize) -> Result<(), Problem> {
        let size = if size <= limits::SMALL_BODY { 0 } else { size };
        let more = size.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let bodies = &self.budget.bodies;
        match &self.budget.payer {
            BodyClass::Authenticated(caller) => {
                let payer = self.payer.get_or_insert_with(|| match caller {
                    Some(caller) => bodies.access.payer(caller),
                    None => "".into(),
                });
                let mut spent = bodies.spent.lock();
                let own = spent.by_payer.get(payer).copied().unwrap_or(0);
                let max = limits::BODIES_OF_CALLERS;
                if !shares::is_open(spent.known, own, more, max, || bodies.access.has_partitions()) {
                    return Err(Problem::body_budget_exhausted());
                }
                spent.known += more;
                *spent.by_payer.entry(payer.clone()).or_default() += more;
            }
            BodyClass::Anonymous(peer, _) => {
                let mut spent = bodies.spent.lock();
                let own = spent.by_peer.get(peer).copied().unwrap_or(0);
                if own + more > limits::BODIES_OF_PEER || spent.strangers + more > limits::ANONYMOUS_BODIES {
                    return Err(Problem::body_budget_exhausted());
                }
                spent.strangers += more;
                spent.by_peer.insert(*peer, own + more);
            }
        }
        self.bytes += more;
        Ok(())
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut spent = self.budget.bodies.spent.lock();
        match &self.budget.payer {
            BodyClass::Authenticated(_) => {
                spent.known -= self.bytes;
                if let Some(payer) = &self.payer {
                    give_back(&mut spent.by_payer, payer, self.bytes);
                }
            }
            BodyClass::Anonymous(peer, _) => {
                spent.strangers -= self.bytes;
                give_back(&mut spent.by_peer, peer, self.bytes);
            }
        }
    }
}

/// Removes entries that reach zero.
fn give_back<K: Hash + Eq>(each: &mut HashMap<K, usize>, of: &K, bytes: usize) {
    if let Some(own) = each.get_mut(of) {
        *own -= bytes;
        if *own == 0 {
            each.remove(of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_memory_is_limited_in_total_and_per_client() {
        let (bodies, peers) = (MemoryPool::new(Access::off()), Clients::new(Vec::new()));
        let known = BodyBudget::authenticated(&bodies, None);
        let peer = |n: u8| BodyBudget::anonymous(&bodies, ClientIp::At([10, 0, 0, n].into()), &peers);
        let mut full: Vec<_> = (0..16).map(|n| peer(n).reserve()).collect();
        for share in &mut full {
            share.grow(limits::BODIES_OF_PEER).expect("its own share");
        }
        assert!(peer(0).reserve().grow(limits::SMALL_BODY + 1).is_err(), "a peer has a sixteenth");
        assert!(peer(99).reserve().grow(limits::SMALL_BODY + 1).is_err(), "and all of them the whole");
        peer(0).reserve().grow(limits::SMALL_BODY).expect("small bodies always pass");
        let mut large = known.reserve();
        large.grow(limits::BODIES_OF_CALLERS).expect("callers with a credential have their own");
        assert!(known.reserve().grow(limits::BODY).is_err());
        full.pop();
        peer(99).reserve().grow(limits::BODIES_OF_PEER).expect("what is given back is there for others");
        drop((full, large));
        let spent = bodies.spent.lock();
        assert_eq!((spent.known, spent.strangers, spent.by_peer.len() + spent.by_payer.len()), (0, 0, 0));
    }
}
