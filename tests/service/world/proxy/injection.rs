//! Faults for chosen script calls.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::watch;

use super::resp;

/// The script of a look at a restart marker, which belongs to no library.
const RAISE_MARKER: &str = include_str!("../../../../crates/intray-store/src/upkeep/restart.lua");

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFate {
    /// Redis never receives it; the connection breaks.
    NotDelivered,
    /// Redis does it, and its connection breaks after so many bytes of the reply.
    CutAt(usize),
    /// Redis does it, and says so as many ms later.
    Slow(u64),
    /// Redis never receives it; the proxy sends this error.
    ErrorReply(&'static str),
    /// It and all later calls on its connection are held until the test releases them.
    Held,
}

struct Injection {
    /// None: whichever.
    script: Option<String>,
    fate: CallFate,
    /// Each nth of such calls is caught.
    nth: usize,
    /// How many more may be.
    left: usize,
    passed: usize,
}

#[derive(Default)]
pub(super) struct Injections {
    trap: Mutex<Option<Injection>>,
    /// Scripts by their digests.
    names: Mutex<HashMap<String, String>>,
    caught: AtomicUsize,
    /// How many of those Redis has done.
    pub(super) done: watch::Sender<usize>,
}

impl Injections {
    pub(super) fn set(&self, script: Option<&str>, nth: usize, max: usize, fate: CallFate) {
        let script = script.map(str::to_owned);
        *lock(&self.trap) = Some(Injection { script, fate, nth, left: max, passed: 0 });
        self.caught.store(0, Ordering::Relaxed);
        self.done.send_replace(0);
    }

    pub(super) fn hits(&self) -> usize {
        self.caught.load(Ordering::Relaxed)
    }

    /// What becomes of this command, unless it just passes.
    pub(super) fn fate_of(&self, command: &[u8]) -> Option<CallFate> {
        let name = self.script_of(&resp::words(command))?;
        let mut trap = lock(&self.trap);
        let trap = trap.as_mut().filter(|trap| trap.left > 0)?;
        if trap.script.as_ref().is_some_and(|wanted| *wanted != name) {
            return None;
        }
        trap.passed += 1;
        if trap.passed % trap.nth != 0 {
            return None;
        }
        trap.left -= 1;
        self.caught.fetch_add(1, Ordering::Relaxed);
        Some(trap.fate)
    }

    /// The name of the transition or view, in any form of call. A digest was sent as full text before.
    fn script_of(&self, words: &[&[u8]]) -> Option<String> {
        let [command, what, ..] = words else { return None };
        let what = std::str::from_utf8(what).ok()?;
        match *command {
            // After the name of the library, which is `intray_` and a digest.
            b"FCALL" => Some(what.trim_end_matches("_large").splitn(3, '_').nth(2)?.to_owned()),
            b"EVAL" => {
                let name = ["transitions/", "views/"].iter().find_map(|room| {
                    let (_, rest) = what.rsplit_once(&format!("m['{room}"))?;
                    Some(rest.split_once('\'')?.0)
                });
                let name = name.or_else(|| (what == RAISE_MARKER).then_some("restart"))?.to_owned();
                lock(&self.names).insert(redis::Script::new(what).get_hash().to_owned(), name.clone());
                Some(name)
            }
            b"EVALSHA" => lock(&self.names).get(what).cloned(),
            _ => None,
        }
    }
}

fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
