//! Those who call without a credential are told apart by their address, and limited by what they miss: calls that are
//! malformed or name a reservation that nobody has. Who hits one is never counted, however many share the address.

mod forwarded;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, Once, PoisonError},
    time::Instant,
};

use axum::{extract::Request, http::HeaderMap};
use ipnet::IpNet;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use crate::shares::RequestConnection;

/// Misses a second of one peer, and at once: an office whose laptops all wake at a time misses once each, a guesser of
/// reservations of 256 bits misses always.
const MISSES_A_SECOND: f64 = 100.0;
const MISSES_AT_ONCE: f64 = 200.0;
/// No more than this is remembered of who misses on and on: a second's worth, and they are heard again.
const MISSES_KEPT: f64 = MISSES_AT_ONCE + MISSES_A_SECOND;
/// Beyond so many peers those without misses go, and who comes new shares one place with the others.
const MOST_PEERS: usize = 10_000;

/// Characters of a header that a line in the log repeats.
const SAID: usize = 64;

/// Who calls, as far as an address can tell: of IPv6 the network, which is what a person has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    At(IpAddr),
    /// All for whom there is no place of their own.
    Crowd,
}

/// A cheap handle.
#[derive(Clone)]
pub struct Peers(Arc<Inner>);

struct Inner {
    /// Proxies whose word about their clients is taken.
    trusted: Vec<IpNet>,
    known: Mutex<HashMap<Peer, Misses>>,
    /// A header that is not understood is said at the first call that has one.
    odd: Once,
}

struct Misses {
    level: f64,
    at: Instant,
    /// Who has missed too much goes one call at a time.
    turn: Arc<Turn<()>>,
}

impl Peers {
    pub fn new(trusted: Vec<IpNet>) -> Self {
        Self(Arc::new(Inner { trusted, known: Mutex::default(), odd: Once::new() }))
    }

    /// Who makes a request: the connection's other end, or whom a trusted proxy names.
    pub fn of(&self, request: &Request) -> Peer {
        let end =
            request.extensions().get::<RequestConnection>().map(|RequestConnection(connection)| connection.peer().ip());
        end.map_or(Peer::Crowd, |end| Peer::At(network(self.client(end, request.headers()))))
    }

    /// The rightmost address that is no trusted proxy's. What stands left of it anybody may have written.
    fn client(&self, end: IpAddr, headers: &HeaderMap) -> IpAddr {
        let is_trusted = |address: IpAddr| self.0.trusted.iter().any(|net| net.contains(&address));
        let mut client = end.to_canonical();
        if !is_trusted(client) {
            return client;
        }
        for before in forwarded::named(headers) {
            match before {
                Ok(before) => client = before.to_canonical(),
                Err(text) => {
                    self.0.odd.call_once(|| warn_of(&text, client));
                    return client;
                }
            }
            if !is_trusted(client) {
                return client;
            }
        }
        client
    }

    /// Notes misses; in how many ms the peer may miss again, if it has missed too often.
    pub fn missed(&self, peer: Peer, misses: u32, now: Instant) -> Option<u32> {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_PEERS && !known.contains_key(&peer) {
            known.retain(|_, misses| misses.level_at(now) > 0.0);
        }
        let full = known.len() >= MOST_PEERS && !known.contains_key(&peer);
        let place = known.entry(if full { Peer::Crowd } else { peer });
        let missed = place.or_insert_with(|| Misses { level: 0.0, at: now, turn: Arc::default() });
        missed.level = (missed.level_at(now) + f64::from(misses)).min(MISSES_KEPT);
        missed.at = now;
        let beyond = missed.level - MISSES_AT_ONCE;
        (beyond > 0.0).then(|| (beyond / MISSES_A_SECOND * 1e3).ceil() as u32)
    }

    /// Waits for those before it, if the peer has missed too often: guesses go one at a time.
    pub async fn turn(&self, peer: Peer, now: Instant) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
            let missed = known.get(&peer).or_else(|| known.get(&Peer::Crowd).filter(|_| known.len() >= MOST_PEERS))?;
            (missed.level_at(now) > MISSES_AT_ONCE).then(|| missed.turn.clone())?
        };
        Some(turn.lock_owned().await)
    }
}

fn warn_of(text: &str, proxy: IpAddr) {
    let text: String = text.chars().take(SAID).collect();
    tracing::warn!(
        "X-Forwarded-For of the trusted proxy {proxy} has {text:?}, which is no address: its caller counts as the proxy, and \
         so does each whose address is not understood; further ones are not logged"
    );
}

impl Misses {
    fn level_at(&self, now: Instant) -> f64 {
        (self.level - now.saturating_duration_since(self.at).as_secs_f64() * MISSES_A_SECOND).max(0.0)
    }
}

/// The first 64 bits of an IPv6 address: the rest is its owner's to change.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use std::net::SocketAddr;

    use axum::body::Body;

    use super::*;
    use crate::shares::ClientConnection;

    struct At(SocketAddr);

    impl ClientConnection for At {
        fn peer(&self) -> SocketAddr {
            self.0
        }

        fn charge(&self, _: &Arc<str>, _: &dyn Fn() -> bool) -> bool {
            true
        }
    }

    fn peer(trusted: &[&str], end: &str, forwarded: &[&str]) -> String {
        let peers = Peers::new(trusted.iter().map(|net| net.parse().expect("a network")).collect());
        let request = forwarded.iter().fold(Request::builder(), |r, value| r.header("x-forwarded-for", *value));
        let mut request = request.body(Body::empty()).expect("a request");
        let end = SocketAddr::new(end.parse().expect("an address"), 1);
        request.extensions_mut().insert(RequestConnection(Arc::new(At(end))));
        match peers.of(&request) {
            Peer::At(address) => address.to_string(),
            Peer::Crowd => "crowd".to_owned(),
        }
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_about_its_client() {
        assert_eq!(peer(&[], "10.0.0.1", &["1.2.3.4"]), "10.0.0.1");
        assert_eq!(peer(&["10.0.0.0/8"], "11.0.0.1", &["1.2.3.4"]), "11.0.0.1");
        assert_eq!(peer(&["10.0.0.0/8"], "10.0.0.1", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(
            peer(&["10.0.0.0/8"], "10.0.0.1", &["6.6.6.6, 1.2.3.4"]),
            "1.2.3.4",
            "the client wrote the left one"
        );
        assert_eq!(
            peer(&["10.0.0.0/8"], "10.0.0.1", &["6.6.6.6", "1.2.3.4, 10.0.0.2"]),
            "1.2.3.4",
            "a chain of proxies"
        );
        assert_eq!(
            peer(&["10.0.0.0/8"], "10.0.0.1", &["6.6.6.6", "1.2.3.4\u{e9}"]),
            "10.0.0.1",
            "what is not understood is not passed over"
        );
        assert_eq!(peer(&["10.0.0.0/8"], "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(peer(&["127.0.0.1/32"], "::ffff:127.0.0.1", &["2001:db8:1:2:3:4:5:6"]), "2001:db8:1:2::");
    }

    #[test]
    fn forwarded_addresses_are_understood_in_each_form() {
        let named = |text: &str| peer(&["10.0.0.0/8"], "10.0.0.1", &[text]);
        for form in
            ["8.8.8.8", "8.8.8.8:4711", "\"8.8.8.8\"", "\"8.8.8.8:80\"", " 8.8.8.8 ", "6.6.6.6,\t8.8.8.8:1", "8.8.8.8,"]
        {
            assert_eq!(named(form), "8.8.8.8", "{form}");
        }
        for form in [
            "2001:db8::1",
            "[2001:db8::1]",
            "[2001:db8::1]:443",
            "\"[2001:db8::1]:443\"",
            "\"2001:db8::1\"",
            "2001:DB8:0:0::1",
            "[2001:db8::1%eth0]:443",
            "2001:db8::1%25eth0",
        ] {
            assert_eq!(named(form), "2001:db8::", "{form}");
        }
        assert_eq!(named("[::ffff:8.8.8.8]:443"), "8.8.8.8");
        assert_eq!(named("8.8.8.8:1, 10.0.0.2:2"), "8.8.8.8", "a chain of proxies that name ports");
        for form in [
            "unknown",
            "_hidden",
            "_hidden:80",
            "desk.example",
            "8.8.8.8:",
            "8.8.8.8:65536",
            "8.8.8",
            "[8.8.8.8]",
            "[2001:db8::1",
            "6.6.6.6, unknown",
            "for=8.8.8.8",
            "\"8.8.8.8",
        ] {
            assert_eq!(named(form), "10.0.0.1", "{form}");
        }
    }

    #[test]
    fn who_misses_too_often_is_told_when_to_come_back_and_hinders_nobody_else() {
        let (peers, now) = (Peers::new(Vec::new()), Instant::now());
        let [ann, bob] = [1, 2].map(|n| Peer::At(IpAddr::from([10, 0, 0, n])));
        assert_eq!(peers.missed(ann, 200, now), None);
        assert_eq!(peers.missed(ann, 10, now), Some(100));
        assert_eq!(peers.missed(bob, 1, now), None);
        assert_eq!(peers.missed(ann, 1_000_000, now), Some(1_000), "whatever was missed, a second makes it good");
        assert_eq!(peers.missed(ann, 1, now + Duration::from_secs(2)), None);
    }

    #[test]
    fn a_world_of_peers_has_a_bounded_place() {
        let (peers, now) = (Peers::new(Vec::new()), Instant::now());
        for n in 0..MOST_PEERS as u32 + 500 {
            peers.missed(Peer::At(IpAddr::from(n.to_be_bytes())), 1, now);
        }
        assert!(peers.0.known.lock().expect("nobody panics").len() <= MOST_PEERS + 1);
        peers.missed(Peer::At(IpAddr::from([1, 1, 1, 1])), 1, now + Duration::from_secs(10));
        assert_eq!(peers.0.known.lock().expect("nobody panics").len(), 1);
    }
}
