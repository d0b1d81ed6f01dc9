//! What bodies may take of the memory while they are in hand, in all and of whom. They count as they arrive: to announce
//! much costs nobody anything.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio::sync::OwnedMutexGuard;

use crate::{
    access::{Access, Caller},
    http::{
        middleware::client_ip::{Peer, Peers},
        response::problem::Problem,
    },
    job::limits,
    shares,
};

/// What is spent now, by whom.
#[derive(Default)]
struct Spent {
    known: usize,
    /// What those have in hand who have shown a credential.
    by_payer: HashMap<Arc<str>, usize>,
    strangers: usize,
    /// Those who have some in hand.
    by_peer: HashMap<Peer, usize>,
}

/// All that there is to spend; a cheap handle.
#[derive(Clone)]
pub struct Bodies {
    spent: Arc<Mutex<Spent>>,
    access: Access,
}

/// Whose memory a body takes.
#[derive(Clone)]
enum Payer {
    /// Somebody with a credential, or where none is needed: they have a share of their own.
    Known(Option<Caller>),
    Stranger(Peer, Peers),
}

/// What a call may spend. The layer of access gives each call one.
#[derive(Clone)]
pub struct Purse {
    bodies: Bodies,
    payer: Payer,
}

/// What a body has spent, until it is gone.
pub struct Share {
    purse: Purse,
    /// As whose it counts, once it does.
    payer: Option<Arc<str>>,
    bytes: usize,
}

impl Bodies {
    pub fn new(access: Access) -> Self {
        Self { spent: Arc::default(), access }
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Purse {
    /// `caller` is none where there is no access control.
    pub fn of_known(bodies: &Bodies, caller: Option<Caller>) -> Self {
        Self { bodies: bodies.clone(), payer: Payer::Known(caller) }
    }

    pub fn of_stranger(bodies: &Bodies, peer: Peer, peers: &Peers) -> Self {
        Self { bodies: bodies.clone(), payer: Payer::Stranger(peer, peers.clone()) }
    }

    /// Bytes of the largest body.
    pub fn most(&self) -> usize {
        match self.payer {
            Payer::Known(_) => limits::BODY,
            Payer::Stranger(..) => limits::STRANGERS_BODY,
        }
    }

    pub fn open(&self) -> Share {
        Share { purse: self.clone(), payer: None, bytes: 0 }
    }

    /// For strangers who have missed too often: until those before them are done.
    pub async fn turn(&self) -> Option<OwnedMutexGuard<()>> {
        match &self.payer {
            Payer::Known(_) => None,
            Payer::Stranger(peer, peers) => peers.turn(*peer, Instant::now()).await,
        }
    }
}

impl Share {
    /// The body is now so large. What lies in the connection's buffer anyway costs nothing, so that who says little is heard
    /// whatever others do.
    ///
    /// # Errors
    /// A problem, when there is no room for it now.
    pub fn grow(&mut self, size: usize) -> Result<(), Problem> {
        let size = if size <= limits::SMALL_BODY { 0 } else { size };
        let more = size.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let bodies = &self.purse.bodies;
        match &self.purse.payer {
            Payer::Known(caller) => {
                let payer = self.payer.get_or_insert_with(|| match caller {
                    Some(caller) => bodies.access.payer(caller),
                    None => "".into(),
                });
                let mut spent = bodies.spent();
                let own = spent.by_payer.get(payer).copied().unwrap_or(0);
                let most = limits::BODIES_OF_CALLERS;
                if !shares::is_open(spent.known, own, more, most, || bodies.access.has_partitions()) {
                    return Err(Problem::too_much_in_hand());
                }
                spent.known += more;
                *spent.by_payer.entry(payer.clone()).or_default() += more;
            }
            Payer::Stranger(peer, _) => {
                let mut spent = bodies.spent();
                let own = spent.by_peer.get(peer).copied().unwrap_or(0);
                if own + more > limits::BODIES_OF_PEER || spent.strangers + more > limits::BODIES_OF_STRANGERS {
                    return Err(Problem::too_much_in_hand());
                }
                spent.strangers += more;
                spent.by_peer.insert(*peer, own + more);
            }
        }
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut spent = self.purse.bodies.spent();
        match &self.purse.payer {
            Payer::Known(_) => {
                spent.known -= self.bytes;
                if let Some(payer) = &self.payer {
                    give_back(&mut spent.by_payer, payer, self.bytes);
                }
            }
            Payer::Stranger(peer, _) => {
                spent.strangers -= self.bytes;
                give_back(&mut spent.by_peer, peer, self.bytes);
            }
        }
    }
}

/// Who has nothing in hand any more is not remembered.
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
    fn what_is_in_hand_is_bounded_in_all_and_of_each_peer_and_is_given_back() {
        let (bodies, peers) = (Bodies::new(Access::off()), Peers::new(Vec::new()));
        let known = Purse::of_known(&bodies, None);
        let peer = |n: u8| Purse::of_stranger(&bodies, Peer::At([10, 0, 0, n].into()), &peers);
        let mut full: Vec<_> = (0..16).map(|n| peer(n).open()).collect();
        for share in &mut full {
            share.grow(limits::BODIES_OF_PEER).expect("its own share");
        }
        assert!(peer(0).open().grow(limits::SMALL_BODY + 1).is_err(), "a peer has a sixteenth");
        assert!(peer(99).open().grow(limits::SMALL_BODY + 1).is_err(), "and all of them the whole");
        peer(0).open().grow(limits::SMALL_BODY).expect("who says little is heard");
        let mut large = known.open();
        large.grow(limits::BODIES_OF_CALLERS).expect("callers with a credential have their own");
        assert!(known.open().grow(limits::BODY).is_err());
        full.pop();
        peer(99).open().grow(limits::BODIES_OF_PEER).expect("what is given back is there for others");
        drop((full, large));
        let spent = bodies.spent();
        assert_eq!((spent.known, spent.strangers, spent.by_peer.len() + spent.by_payer.len()), (0, 0, 0));
    }
}
