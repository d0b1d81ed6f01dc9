//! What bodies may take of the memory while they are in hand, in all and of whom. They count as they arrive: to announce
//! much costs nobody anything.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use tokio::sync::OwnedMutexGuard;

use super::{
    peers::{Peer, Peers},
    problem::Problem,
};
use crate::job::limits;

/// What is spent now, by whom.
#[derive(Default)]
struct Spent {
    known: usize,
    strangers: usize,
    /// Those who have some in hand.
    by_peer: HashMap<Peer, usize>,
}

/// All that there is to spend; a cheap handle.
#[derive(Clone, Default)]
pub struct Bodies(Arc<Mutex<Spent>>);

/// Whose memory a body takes.
#[derive(Clone)]
enum Payer {
    /// Somebody with a credential, or where none is needed: they have a share of their own.
    Known,
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
    bytes: usize,
}

impl Purse {
    pub fn of_known(bodies: &Bodies) -> Self {
        Self { bodies: bodies.clone(), payer: Payer::Known }
    }

    pub fn of_stranger(bodies: &Bodies, peer: Peer, peers: &Peers) -> Self {
        Self { bodies: bodies.clone(), payer: Payer::Stranger(peer, peers.clone()) }
    }

    /// Bytes of the largest body.
    pub fn most(&self) -> usize {
        match self.payer {
            Payer::Known => limits::BODY,
            Payer::Stranger(..) => limits::STRANGERS_BODY,
        }
    }

    pub fn open(&self) -> Share {
        Share { purse: self.clone(), bytes: 0 }
    }

    /// For strangers who have missed too often: until those before them are done.
    pub async fn turn(&self) -> Option<OwnedMutexGuard<()>> {
        match &self.payer {
            Payer::Known => None,
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
        let mut spent = self.purse.bodies.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.purse.payer {
            Payer::Known if spent.known + more <= limits::BODIES_OF_CALLERS => spent.known += more,
            Payer::Stranger(peer, _) => {
                let own = spent.by_peer.get(peer).copied().unwrap_or(0);
                if own + more > limits::BODIES_OF_PEER || spent.strangers + more > limits::BODIES_OF_STRANGERS {
                    return Err(Problem::too_much_in_hand());
                }
                spent.strangers += more;
                if more > 0 {
                    spent.by_peer.insert(*peer, own + more);
                }
            }
            Payer::Known => return Err(Problem::too_much_in_hand()),
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
        let mut spent = self.purse.bodies.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.purse.payer {
            Payer::Known => spent.known -= self.bytes,
            Payer::Stranger(peer, _) => {
                spent.strangers -= self.bytes;
                if let Some(own) = spent.by_peer.get_mut(peer) {
                    *own -= self.bytes;
                    if *own == 0 {
                        spent.by_peer.remove(peer);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_hand_is_bounded_in_all_and_of_each_peer_and_is_given_back() {
        let (bodies, peers) = (Bodies::default(), Peers::new(Vec::new()));
        let known = Purse::of_known(&bodies);
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
        let spent = bodies.0.lock().expect("nobody panics");
        assert_eq!((spent.known, spent.strangers, spent.by_peer.len()), (0, 0, 0));
    }
}
