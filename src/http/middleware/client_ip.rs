//! Clients without a credential are told apart by address, and limited by their failed attempts: calls that are
//! malformed or name an unknown reservation. A valid reservation never counts, however many clients share the address.

mod forwarded;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Once},
    time::Instant,
};

use axum::{extract::Request, http::HeaderMap};
use ipnet::IpNet;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use crate::shares::RequestConnection;

/// Failed attempts of one client: a second, and at once. An office whose laptops wake together fails once each; a
/// client that guesses reservations of 256 bits fails always.
const FAILURES_PER_SECOND: f64 = 100.0;
const FAILURE_BURST: f64 = 200.0;
/// Failures beyond this level are not counted, so that a client may call again after a second.
const MAX_FAILURE_LEVEL: f64 = FAILURE_BURST + FAILURES_PER_SECOND;
/// Above this many, clients without recent failures are dropped, and new ones share [`ClientIp::Overflow`].
const MAX_CLIENTS: usize = 10_000;

/// Characters of a header that a log line repeats.
const MAX_LOGGED_CHARS: usize = 64;

/// A client's address; for IPv6 its /64 network, which one subscriber has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientIp {
    At(IpAddr),
    /// All clients beyond the table's capacity.
    Overflow,
}

/// A cheap handle.
#[derive(Clone)]
pub struct Clients(Arc<Inner>);

struct Inner {
    /// Proxies whose `X-Forwarded-For` is trusted.
    trusted: Vec<IpNet>,
    known: Mutex<HashMap<ClientIp, FailedAttempts>>,
    /// The first unreadable header is logged.
    warned: Once,
}

struct FailedAttempts {
    level: f64,
    at: Instant,
    /// Serializes the calls of a client with too many failures.
    turn: Arc<Turn<()>>,
}

impl Clients {
    pub fn new(trusted: Vec<IpNet>) -> Self {
        Self(Arc::new(Inner { trusted, known: Mutex::default(), warned: Once::new() }))
    }

    /// The client of a request: the connection's other end, or the address that a trusted proxy names.
    pub fn of(&self, request: &Request) -> ClientIp {
        let end =
            request.extensions().get::<RequestConnection>().map(|RequestConnection(connection)| connection.peer().ip());
        end.map_or(ClientIp::Overflow, |end| ClientIp::At(network(self.behind_proxies(end, request.headers()))))
    }

    /// The rightmost address that is not a trusted proxy's; a client can forge those to its left.
    fn behind_proxies(&self, end: IpAddr, headers: &HeaderMap) -> IpAddr {
        let is_trusted = |address: IpAddr| self.0.trusted.iter().any(|net| net.contains(&address));
        let mut client = end.to_canonical();
        if !is_trusted(client) {
            return client;
        }
        for before in forwarded::named(headers) {
            match before {
                Ok(before) => client = before.to_canonical(),
                Err(text) => {
                    self.0.warned.call_once(|| warn_unreadable(&text, client));
                    return client;
                }
            }
            if !is_trusted(client) {
                return client;
            }
        }
        client
    }

    /// Records failed attempts. Returns after how many ms the client may try again, if there are too many.
    pub fn record_failure(&self, peer: ClientIp, misses: u32, now: Instant) -> Option<u32> {
        let mut known = self.0.known.lock();
        if known.len() >= MAX_CLIENTS && !known.contains_key(&peer) {
            known.retain(|_, misses| misses.level_at(now) > 0.0);
        }
        let full = known.len() >= MAX_CLIENTS && !known.contains_key(&peer);
        let place = known.entry(if full { ClientIp::Overflow } else { peer });
        let missed = place.or_insert_with(|| FailedAttempts { level: 0.0, at: now, turn: Arc::default() });
        missed.level = (missed.level_at(now) + f64::from(misses)).min(MAX_FAILURE_LEVEL);
        missed.at = now;
        let beyond = missed.level - FAILURE_BURST;
        (beyond > 0.0).then(|| (beyond / FAILURES_PER_SECOND * 1e3).ceil() as u32)
    }

    /// Waits for earlier calls of a client with too many failures, so that guesses run one at a time.
    pub async fn turn(&self, peer: ClientIp, now: Instant) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let known = self.0.known.lock();
            let missed =
                known.get(&peer).or_else(|| known.get(&ClientIp::Overflow).filter(|_| known.len() >= MAX_CLIENTS))?;
            (missed.level_at(now) > FAILURE_BURST).then(|| missed.turn.clone())?
        };
        Some(turn.lock_owned().await)
    }
}

fn warn_unreadable(text: &str, proxy: IpAddr) {
    let text: String = text.chars().take(MAX_LOGGED_CHARS).collect();
    tracing::warn!(
        "X-Forwarded-For of the trusted proxy {proxy} has {text:?}, which is no address: its caller counts as the proxy, and \
         so does each whose address is not understood; further ones are not logged"
    );
}

impl FailedAttempts {
    fn level_at(&self, now: Instant) -> f64 {
        (self.level - now.saturating_duration_since(self.at).as_secs_f64() * FAILURES_PER_SECOND).max(0.0)
    }
}

/// The first 64 bits of an IPv6 address: its owner chooses the rest.
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

    struct Address(SocketAddr);

    impl ClientConnection for Address {
        fn peer(&self) -> SocketAddr {
            self.0
        }

        fn charge(&self, _: &Arc<str>, _: &dyn Fn() -> bool) -> bool {
            true
        }
    }

    fn peer(trusted: &[&str], end: &str, forwarded: &[&str]) -> String {
        let peers = Clients::new(trusted.iter().map(|net| net.parse().expect("a network")).collect());
        let request = forwarded.iter().fold(Request::builder(), |r, value| r.header("x-forwarded-for", *value));
        let mut request = request.body(Body::empty()).expect("a request");
        let end = SocketAddr::new(end.parse().expect("an address"), 1);
        request.extensions_mut().insert(RequestConnection(Arc::new(Address(end))));
        match peers.of(&request) {
            ClientIp::At(address) => address.to_string(),
            ClientIp::Overflow => "crowd".to_owned(),
        }
    }

    #[test]
    fn forwarded_for_is_read_from_trusted_proxies_only() {
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
    fn forwarded_addresses_are_parsed_in_each_form() {
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
    fn failing_client_is_limited_and_others_are_not() {
        let (peers, now) = (Clients::new(Vec::new()), Instant::now());
        let [ann, bob] = [1, 2].map(|n| ClientIp::At(IpAddr::from([10, 0, 0, n])));
        assert_eq!(peers.record_failure(ann, 200, now), None);
        assert_eq!(peers.record_failure(ann, 10, now), Some(100));
        assert_eq!(peers.record_failure(bob, 1, now), None);
        assert_eq!(
            peers.record_failure(ann, 1_000_000, now),
            Some(1_000),
            "whatever was missed, a second makes it good"
        );
        assert_eq!(peers.record_failure(ann, 1, now + Duration::from_secs(2)), None);
    }

    #[test]
    fn client_table_has_a_bounded_size() {
        let (peers, now) = (Clients::new(Vec::new()), Instant::now());
        for n in 0..MAX_CLIENTS as u32 + 500 {
            peers.record_failure(ClientIp::At(IpAddr::from(n.to_be_bytes())), 1, now);
        }
        assert!(peers.0.known.lock().len() <= MAX_CLIENTS + 1);
        peers.record_failure(ClientIp::At(IpAddr::from([1, 1, 1, 1])), 1, now + Duration::from_secs(10));
        assert_eq!(peers.0.known.lock().len(), 1);
    }
}
