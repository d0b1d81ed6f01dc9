//! Where the primary is, as sentinels know it. They are asked again and again and told to say when it moves; while it moves,
//! and as long as the one before still claims to be primary, changes wait.

mod ask;
mod gap;
mod watch;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use redis::{Client, ConnectionInfo, ErrorKind, ProtocolVersion, RedisError};
use tokio::sync::watch::{Receiver, Sender};

pub(crate) use self::watch::is_primary;
use super::address::{Certificates, fixed};
use crate::{
    job::budget::CONNECT,
    store::fault::{Applied, Fault},
};

/// Host and port.
pub type Place = (String, u16);

/// Which sentinels to ask, for what, and what they and Redis want to see.
pub struct Wanted {
    pub sentinels: Vec<Place>,
    pub name: String,
    /// `user:password@` of Redis itself, as in a URL, or nothing.
    pub who: String,
    pub db: u32,
    pub is_tls: bool,
    pub certificates: Certificates,
    pub sentinel_user: Option<String>,
    pub sentinel_password: Option<String>,
    /// Where a server is that is announced by another address.
    pub map: HashMap<Place, Place>,
}

/// What is known by now.
#[derive(Clone, Default)]
struct Now {
    primary: Option<Place>,
    /// Another with each move.
    number: u64,
    /// Until when changes wait, at most, and for what.
    held: Option<(Instant, &'static str)>,
    /// Which was primary before, as long as it may believe that it still is.
    before: Option<Place>,
    behind: Option<Behind>,
}

/// The primary has less than the one before it had when it was last seen.
#[derive(Clone, Copy)]
pub(crate) struct Behind {
    since: Instant,
    /// At least; nothing when their histories are not one.
    bytes: Option<u64>,
}

pub(crate) struct Sentinels {
    wanted: Wanted,
    clients: Vec<(String, Client)>,
    now: Sender<Now>,
}

impl Sentinels {
    pub(crate) fn new(wanted: Wanted) -> Result<Self, RedisError> {
        let client = |place: &Place| {
            let info = fixed(&url(wanted.is_tls, "", place, 0), wanted.certificates.clone())?;
            let mut settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
            if let Some(user) = &wanted.sentinel_user {
                settings = settings.set_username(user);
            }
            if let Some(password) = &wanted.sentinel_password {
                settings = settings.set_password(password);
            }
            Ok::<_, RedisError>((format!("{}:{}", place.0, place.1), Client::open(info.set_redis_settings(settings))?))
        };
        let clients = wanted.sentinels.iter().map(client).collect::<Result<_, _>>()?;
        let sentinels = Self { wanted, clients, now: Sender::new(Now::default()) };
        // What the URL of a primary would be must be one, whatever its address.
        sentinels.info(&("localhost".to_owned(), 1))?;
        Ok(sentinels)
    }

    pub(crate) fn name(&self) -> &str {
        &self.wanted.name
    }

    /// Another with each move of the primary.
    pub(crate) fn number(&self) -> u64 {
        self.now.borrow().number
    }

    /// Where the primary is now, and its number; whoever comes first asks.
    pub(crate) async fn primary(&self) -> Result<(ConnectionInfo, u64), String> {
        if self.now.borrow().primary.is_none() {
            let found = self.ask_all().await?;
            self.move_to(found);
        }
        let (primary, number) = {
            let now = self.now.borrow();
            (now.primary.clone(), now.number)
        };
        let place = primary.ok_or("no sentinel has named a primary yet")?;
        Ok((self.info(&place).map_err(|e| e.to_string())?, number))
    }

    /// Resolves when the primary is another than that of the number.
    pub(crate) async fn moved_from(&self, number: u64) {
        let mut now: Receiver<Now> = self.now.subscribe();
        // It ends with its sender, which is here.
        let _ = now.wait_for(|now| now.number != number).await;
    }

    /// Waits while the primary moves; answers whose number a change may go to.
    pub(crate) async fn admit(&self) -> Result<u64, Fault> {
        let is_open = |now: &Now| now.held.is_none();
        {
            let now = self.now.borrow();
            if is_open(&now) {
                return Ok(now.number);
            }
        }
        let mut now = self.now.subscribe();
        let open = tokio::time::timeout(CONNECT, now.wait_for(is_open)).await;
        let number = open.ok().and_then(Result::ok).map(|now| now.number);
        number.ok_or_else(|| {
            let why = self.now.borrow().held.map_or("the primary moves", |(_, why)| why);
            Fault::Unavailable { applied: Applied::No, why: why.to_owned() }
        })
    }

    /// What an answer is worth that was sent to the primary of that number: nothing when that is no longer the one.
    pub(crate) fn still(&self, number: u64) -> Result<(), Fault> {
        if self.number() == number {
            return Ok(());
        }
        Err(Fault::unknown("the primary has moved meanwhile"))
    }

    /// A sentence about what the primary lacks of what the one before it had, since it is primary.
    pub(crate) fn lacks(&self) -> Option<String> {
        let Behind { since, bytes } = self.now.borrow().behind?;
        let what = match bytes {
            Some(bytes) => format!("at least {bytes} bytes"),
            None => "an unknown part".to_owned(),
        };
        Some(format!(
            "for {} s the primary lacks {what} of what the one before it had taken",
            since.elapsed().as_secs()
        ))
    }

    fn info(&self, place: &Place) -> Result<ConnectionInfo, RedisError> {
        let Wanted { is_tls, who, db, certificates, .. } = &self.wanted;
        fixed(&url(*is_tls, who, place, *db), certificates.clone())
    }

    fn move_to(&self, place: Place) {
        self.now.send_if_modified(|now| {
            if now.primary.as_ref() == Some(&place) {
                return false;
            }
            now.before = now.primary.replace(place);
            now.number += 1;
            now.held =
                now.before.as_ref().map(|_| (Instant::now() + CLAIMS, "another server still claims to be primary"));
            true
        });
    }
}

/// A sentinel tells a primary that it replaced so much later at the latest, if it reaches it at all.
const CLAIMS: Duration = Duration::from_secs(15);

fn url(is_tls: bool, who: &str, (host, port): &Place, db: u32) -> String {
    let scheme = if is_tls { "rediss" } else { "redis" };
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    format!("{scheme}://{who}{host}:{port}/{db}")
}

/// How an error begins that is none of the client's: what follows says enough.
pub(super) const OURS: &str = "sentinels - Client: ";

pub(crate) fn error(why: String) -> RedisError {
    RedisError::from((ErrorKind::Client, "sentinels", why))
}
