//! A few connections that everybody shares. The pool makes, checks and replaces them; a call clones one, pays no checkout
//! and no PING, and its commands go out pipelined with everybody else's.

mod durability;
mod faults;
mod form;
mod home;
mod lines;
mod mind;
mod node;
mod room;
mod slot;

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use deadpool_redis::Connection;
use futures_util::future::BoxFuture;
use redis::{RedisError, Value};

pub(super) use self::faults::{away, in_words};
pub use self::{
    durability::{Disk, Durability},
    room::Room,
};
use self::{
    faults::{WRONG_TYPE, is_broken, is_cut, is_misled, judge},
    form::Form,
    home::Home,
    lines::{LINES, Lines},
    node::Way,
    slot::Slot,
};
pub(crate) use crate::store::redis::args::Args;
use crate::store::redis::server::Server;
use crate::store::{
    fault::Fault,
    script::{Script, Scripts},
};

/// Shared by all calls; one more is left in the pool for health checks.
const SHARED: usize = 3;
/// A connection that is younger leads to the server that is there now: another would lead nowhere else.
const FRESH: Duration = Duration::from_secs(1);

pub(crate) struct Link {
    /// Host and port, or the socket: never who asks, nor their password.
    place: String,
    /// It did not answer when it was last asked.
    lost: AtomicBool,
    form: Form,
    home: Home,
    /// Of a private server.
    room: Option<Room>,
    durability: Durability,
    slots: [Slot; SHARED],
    /// For those that wait until a change is kept; without such there are none.
    lines: Option<Lines>,
    turn: AtomicUsize,
}

impl Link {
    pub(crate) fn new(
        server: Server,
        (room, durability): (Option<Room>, Durability),
        scripts: &Scripts,
        nowhere: &str,
    ) -> Self {
        Self::build(server, (room, durability), Form::new(scripts, nowhere))
    }

    fn build(server: Server, (room, durability): (Option<Room>, Durability), form: Form) -> Self {
        let (place, lines) = (server.place(), durability.asks().then(Lines::new));
        let home = Home::new(server, SHARED + 1 + lines.as_ref().map_or(0, |_| LINES));
        let (lost, turn) = (AtomicBool::new(false), AtomicUsize::new(0));
        Self { place, lost, form, home, room, durability, slots: Default::default(), lines, turn }
    }

    /// Runs a script, for one item or several.
    pub(crate) async fn run(&self, script: &Script, keys: &Args, items: &[&Args]) -> Result<Value, Fault> {
        self.attempt(false, script, keys, items).await.map_err(|sent| sent.of(script))
    }

    /// The same, and why there is no answer. `asking`: its slot is just being moved here.
    pub(super) async fn attempt(
        &self,
        asking: bool,
        script: &Script,
        keys: &Args,
        items: &[&Args],
    ) -> Result<Value, Sent> {
        if script.grows && self.shortage().is_some() {
            return Err(Sent::Fault(Fault::Full));
        }
        if script.writes && (self.lines.is_some() || self.home.sentinels().is_some()) {
            let careful: BoxFuture<'_, _> = Box::pin(self.run_with_care(asking, script, keys, items));
            return careful.await;
        }
        self.run_at_once(asking, script, keys, items).await
    }

    async fn run_at_once(&self, asking: bool, script: &Script, keys: &Args, items: &[&Args]) -> Result<Value, Sent> {
        let answer = self.call(Way { slot: None, asking }, script, keys, items).await?;
        if script.writes && self.knows_its_room() {
            self.confirm().await.map_err(Sent::Fault)?;
        }
        Ok(answer)
    }

    /// Where the primary may move, or changes wait until they are kept.
    async fn run_with_care(&self, asking: bool, script: &Script, keys: &Args, items: &[&Args]) -> Result<Value, Sent> {
        let admitted = match self.home.sentinels() {
            Some(sentinels) => Some((sentinels, sentinels.admit().await.map_err(Sent::Fault)?)),
            None => None,
        };
        let answer = match &self.lines {
            Some(lines) => self.run_on_a_line(lines, asking, script, keys, items).await?,
            None => self.run_at_once(asking, script, keys, items).await?,
        };
        // What the primary of before has taken meanwhile, it may throw away.
        admitted.map_or(Ok(()), |(sentinels, number)| sentinels.still(number)).map_err(Sent::Fault)?;
        Ok(answer)
    }

    /// A plain command.
    pub(crate) async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        self.send(Way::ANY, command).await.map_err(Sent::fault)
    }

    /// A plain command over a connection that the pool has just checked and that no calls share: for health, not for haste.
    /// It does not wait behind calls.
    pub(crate) async fn checked(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        let mut connection = self.connect().await?;
        let answer = command.query_async(&mut *connection).await;
        if answer.as_ref().is_err_and(is_broken) {
            drop(Connection::take(connection));
        }
        answer.map_err(|e| judge(&e))
    }

    /// Whether Redis would run a command for us. What else is wrong with it does not matter here: rights come first.
    pub(crate) async fn may(&self, command: &redis::Cmd) -> Result<bool, Fault> {
        let (_, mut connection, _) = self.open(&self.slots[0]).await?;
        match command.query_async::<Value>(&mut connection).await {
            Err(e) if e.code() == Some("NOPERM") => Ok(false),
            Err(e) if e.code().is_none() || e.code() == Some("NOAUTH") => Err(judge(&e)),
            Ok(_) | Err(_) => Ok(true),
        }
    }

    /// A key caused it which is something else than it should be.
    pub(super) fn is_odd(fault: &Fault) -> bool {
        matches!(fault, Fault::Broken(why) if why.starts_with(WRONG_TYPE))
    }

    /// What a script's failure was, truly: where the registry is a text, a program of another layout has put one in the
    /// place of every key, and a script dies of the first that it reads.
    pub(super) fn explained(fault: Fault, of_registry: &Fault) -> Fault {
        if Self::is_odd(of_registry) { away(&"the keys have another layout by now") } else { fault }
    }

    /// Open connections, and how many there may be.
    pub(crate) fn connections(&self) -> (usize, usize) {
        self.home.connections()
    }

    async fn send(&self, way: Way<'_>, command: &redis::Cmd) -> Result<Value, Sent> {
        let slot = way.slot.unwrap_or_else(|| &self.slots[self.turn.fetch_add(1, Ordering::Relaxed) % SHARED]);
        let (number, mut connection, born) = self.open(slot).await.map_err(Sent::Fault)?;
        let answer = match way.asking {
            false => command.query_async(&mut connection).await,
            true => Box::pin(node::ask(&mut connection, command)).await,
        };
        match answer {
            Ok(value) => {
                self.found();
                Ok(value)
            }
            Err(e) => {
                if is_cut(&e) || is_misled(&e) && born.elapsed() >= FRESH {
                    Box::pin(self.refused(slot, number, &e)).await;
                }
                Err(Sent::Error(e))
            }
        }
    }

    /// Says so once, however many find it out.
    fn lose(&self, why: &dyn std::fmt::Display) -> Fault {
        let fault = away(&format_args!("{}: {why}", self.place));
        if !self.lost.swap(true, Ordering::Relaxed) {
            tracing::warn!(%fault, "Redis is lost");
        }
        fault
    }

    fn found(&self) {
        if self.lost.load(Ordering::Relaxed) && self.lost.swap(false, Ordering::Relaxed) {
            tracing::info!(redis = self.place, "Redis is back");
        }
    }
}

/// Why there is no answer.
pub(super) enum Sent {
    /// What Redis said, or the connection to it.
    Error(RedisError),
    /// There was no connection to send it over.
    Fault(Fault),
}

impl Sent {
    pub(super) fn is_cut(e: &RedisError) -> bool {
        is_cut(e)
    }

    pub(super) fn fault(self) -> Fault {
        match self {
            Self::Error(e) => judge(&e),
            Self::Fault(fault) => fault,
        }
    }

    /// Of a script that was run.
    pub(super) fn of(self, script: &Script) -> Fault {
        match self.fault() {
            Fault::Broken(why) => Fault::Broken(script.explain(&why)),
            fault @ (Fault::Unavailable { .. } | Fault::Full) => fault,
        }
    }
}

fn command(name: &str, script: &str, keys: &Args, items: &[&Args]) -> redis::Cmd {
    let parts = || std::iter::once(keys).chain(items.iter().copied());
    let (count, size) =
        parts().fold((3, name.len() + script.len()), |(n, size), args| (n + args.count(), size + args.size()));
    let mut command = redis::Cmd::with_capacity(count, size);
    command.arg(name).arg(script).arg(keys.count());
    for arg in parts().flat_map(Args::iter) {
        command.arg(arg);
    }
    command
}
