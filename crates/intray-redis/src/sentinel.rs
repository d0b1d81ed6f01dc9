//! Finds the primary through sentinels, and holds changes back while it moves and while the old primary still claims to be one.
//!
//! `redis::sentinel` (1.8) was tried and is not used. It takes the first sentinel in the configured order whose server claims to
//! be primary: with one sentinel that had missed the latest election before two that had not, it led to the old primary.
//! [`query`] takes the answer with the newest epoch. The client neither learns of a failover nor maps announced addresses.

mod query;
mod replication_gap;
mod watch;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use redis::{Client, ConnectionInfo, ErrorKind, ProtocolVersion, RedisError};
use tokio::sync::watch::{Receiver, Sender};

pub(crate) use self::watch::is_primary;
use crate::{
    fault::Fault,
    timeouts::Timeouts,
    tls::{Certificates, connection_info},
};

pub type HostPort = (String, u16);

/// The sentinels, the primary's name there, and the credentials for both.
pub struct SentinelSettings {
    pub sentinels: Vec<HostPort>,
    pub name: String,
    /// `user:password@` for Redis itself, as in a URL, or nothing.
    pub credentials: String,
    pub db: u32,
    pub is_tls: bool,
    pub certificates: Certificates,
    pub sentinel_user: Option<String>,
    pub sentinel_password: Option<String>,
    /// From the address that the sentinels announce to the one to connect to.
    pub address_map: HashMap<HostPort, HostPort>,
    pub timeouts: Timeouts,
}

#[derive(Clone, Default)]
struct PrimaryState {
    primary: Option<HostPort>,
    /// How often the primary has moved.
    moves: u64,
    /// Changes wait until this time at most; and the reason.
    held: Option<(Instant, &'static str)>,
    /// The previous primary, until it stops claiming to be one.
    previous: Option<HostPort>,
    gap: Option<ReplicationGap>,
}

/// The primary lacks changes that the previous one had taken.
#[derive(Clone, Copy)]
pub(crate) struct ReplicationGap {
    since: Instant,
    /// At least this many bytes; unknown if the two share no replication history.
    bytes: Option<u64>,
}

pub(crate) struct Sentinels {
    settings: SentinelSettings,
    clients: Vec<(String, Client)>,
    state: Sender<PrimaryState>,
}

impl Sentinels {
    pub(crate) fn new(settings: SentinelSettings) -> Result<Self, RedisError> {
        let client = |address: &HostPort| {
            let info = connection_info(&url(settings.is_tls, "", address, 0), settings.certificates.clone())?;
            let mut login = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
            if let Some(user) = &settings.sentinel_user {
                login = login.set_username(user);
            }
            if let Some(password) = &settings.sentinel_password {
                login = login.set_password(password);
            }
            let name = format!("{}:{}", address.0, address.1);
            Ok::<_, RedisError>((name, Client::open(info.set_redis_settings(login))?))
        };
        let clients = settings.sentinels.iter().map(client).collect::<Result<_, _>>()?;
        let sentinels = Self { settings, clients, state: Sender::new(PrimaryState::default()) };
        // The credentials and the database must make a valid URL for any address.
        sentinels.info(&("localhost".to_owned(), 1))?;
        Ok(sentinels)
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// How often the primary has moved.
    pub(crate) fn moves(&self) -> u64 {
        self.state.borrow().moves
    }

    /// The primary's address, and how often it has moved. The first caller asks the sentinels.
    pub(crate) async fn primary(&self) -> Result<(ConnectionInfo, u64), RedisError> {
        if self.state.borrow().primary.is_none() {
            let found = self.ask_all().await?;
            self.move_to(found);
        }
        let PrimaryState { primary, moves, .. } = self.state.borrow().clone();
        let address = primary.ok_or_else(|| error("no sentinel has named a primary yet".to_owned()))?;
        Ok((self.info(&address)?, moves))
    }

    /// Resolves when the primary has moved again.
    pub(crate) async fn moved_since(&self, moves: u64) {
        let mut state: Receiver<PrimaryState> = self.state.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = state.wait_for(|state| state.moves != moves).await;
    }

    /// Waits while the primary moves; returns the number of moves at which the change is sent.
    pub(crate) async fn admit(&self) -> Result<u64, Fault> {
        let mut state = self.state.subscribe();
        let is_open = state.wait_for(|state| state.held.is_none());
        let open = tokio::time::timeout(self.settings.timeouts.connect(), is_open).await;
        let moves = open.ok().and_then(Result::ok).map(|state| state.moves);
        moves.ok_or_else(|| {
            let why = self.state.borrow().held.map_or("the primary moves", |(_, why)| why);
            Fault::unavailable(&why)
        })
    }

    /// Fails if the primary has moved since the change was admitted: the old primary may discard what it has accepted.
    pub(crate) fn check_unmoved(&self, moves: u64) -> Result<(), Fault> {
        if self.moves() == moves {
            return Ok(());
        }
        Err(Fault::unknown("the primary has moved meanwhile"))
    }

    /// A sentence about the changes of the previous primary that this one lacks.
    pub(crate) fn replication_gap(&self) -> Option<String> {
        let ReplicationGap { since, bytes } = self.state.borrow().gap?;
        let what = match bytes {
            Some(bytes) => format!("at least {bytes} bytes"),
            None => "an unknown part".to_owned(),
        };
        Some(format!(
            "for {} s the primary lacks {what} of what the one before it had taken",
            since.elapsed().as_secs()
        ))
    }

    fn info(&self, address: &HostPort) -> Result<ConnectionInfo, RedisError> {
        let SentinelSettings { is_tls, credentials, db, certificates, .. } = &self.settings;
        connection_info(&url(*is_tls, credentials, address, *db), certificates.clone())
    }

    fn move_to(&self, address: HostPort) {
        self.state.send_if_modified(|state| {
            if state.primary.as_ref() == Some(&address) {
                return false;
            }
            state.previous = state.primary.replace(address);
            state.moves += 1;
            state.held = state
                .previous
                .as_ref()
                .map(|_| (Instant::now() + MAX_OLD_PRIMARY, "another server still claims to be primary"));
            true
        });
    }
}

/// A sentinel demotes a replaced primary within this time, if it reaches it at all.
const MAX_OLD_PRIMARY: Duration = Duration::from_secs(15);

fn url(is_tls: bool, credentials: &str, (host, port): &HostPort, db: u32) -> String {
    let scheme = if is_tls { "rediss" } else { "redis" };
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    format!("{scheme}://{credentials}{host}:{port}/{db}")
}

/// The prefixes of an error that comes from this module and not from the client; the rest is a whole sentence.
const ERROR_PREFIXES: [&str; 2] = ["sentinels - Client: ", "sentinels - AuthenticationFailed: "];

/// The sentence of an error that comes from this module.
pub(crate) fn sentence(message: &str) -> Option<&str> {
    ERROR_PREFIXES.iter().find_map(|prefix| message.strip_prefix(prefix))
}

pub(crate) fn is_of_sentinels(e: &RedisError) -> bool {
    sentence(&e.to_string()).is_some()
}

/// Why the sentinels name no primary.
#[derive(Debug)]
pub(crate) struct Unnamed {
    pub(crate) why: String,
    /// They are there, and refuse this client or know no primary of this name: only other settings help.
    pub(crate) is_refusal: bool,
}

impl From<Unnamed> for RedisError {
    fn from(Unnamed { why, is_refusal }: Unnamed) -> Self {
        let kind = if is_refusal { ErrorKind::AuthenticationFailed } else { ErrorKind::Client };
        Self::from((kind, "sentinels", why))
    }
}

pub(crate) fn error(why: String) -> RedisError {
    Unnamed { why, is_refusal: false }.into()
}
