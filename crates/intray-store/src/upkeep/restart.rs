//! Detects a restart of Redis that has lost what scripts had changed.
//!
//! When Redis starts, it runs its append-only file as the user `default`. Versions without redis/redis#14545 or
//! valkey-io/valkey#3984 check each transaction there, and so each script, against the rights of that user, and skip what it
//! may not do. A marker on each server shows that: a script raises a counter, then a plain command, which is not checked,
//! copies it. If the copy is ahead, the script's change is lost.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use intray_base::waits::hurried;
use intray_redis::Fault;

use super::migrate::LayoutError;
use crate::{handle::Queues, registry::store_id::Loss};

/// How to repair the cause.
pub(super) const DEFAULT_USER_REMEDY: &str = "when Redis starts, it checks the transactions of its append-only file against \
     its user `default`, and skips what that user may not do. Give it its rights, also if it is off, and keep them in Redis's \
     configuration or ACL file: `ACL SETUSER default off nopass ~* &* +@all`";
/// A marker in the base of the append-only file says nothing about what came after it, so it is raised regularly.
const RAISE_EVERY: Duration = Duration::from_secs(10);
const RAISE: &str = include_str!("restart.lua");

/// When each server's marker was last looked at: the number of its connections, and the time.
#[derive(Default)]
pub(super) struct RestartMarkers(HashMap<String, (usize, Instant)>);

impl RestartMarkers {
    /// Looks at the marker of each server that has other connections than before, and of each once in a while. The user of a
    /// private server has all rights.
    pub(super) async fn check(&mut self, queues: &Queues) {
        let links = &queues.parts.runner.link;
        if links.has_private_disk() {
            return;
        }
        for link in links.all().await.unwrap_or_default() {
            let (name, opened) = (link.name(), link.opened());
            let is_same = |(of, at): &(usize, Instant)| *of == opened && at.elapsed() < hurried(RAISE_EVERY);
            if self.0.get(name).is_some_and(is_same) {
                continue;
            }
            let Some(key) = links.key_at(&link, |number| queues.parts.runner.keys.restart_marker(number)) else {
                continue;
            };
            let checked = queues.check_restart(name, &key).await;
            if matches!(checked, Ok(true) | Err(LayoutError::Fault(Fault::Full(_)))) {
                self.0.insert(name.to_owned(), (opened, Instant::now()));
            }
        }
    }
}

impl Queues {
    /// Reports a loss that the marker shows or that another instance has found there, and raises the marker. `false`: Redis was
    /// restarted meanwhile, and its loss is still to be reported.
    async fn check_restart(&self, server: &str, key: &str) -> Result<bool, LayoutError> {
        let (links, state) = (&self.parts.runner.link, &self.parts.store_id);
        let counts: [Option<u64>; 3] =
            links.ask(redis::cmd("HMGET").arg(key).arg(&["inside", "outside", "lost"])).await?;
        let [inside, outside, mut lost] = counts;
        let is_lost = outside > inside;
        if is_lost {
            // First of all, so that every instance learns of it.
            links.plain(redis::cmd("HSET").arg(key).arg("lost").arg(outside)).await?;
            lost = outside;
        }
        let is_news = match state.known_restart(key) {
            None => is_lost,
            Some(known) => lost.is_some() && lost != known,
        };
        if is_news {
            self.record_loss(Loss::ScriptChanges).await?;
            tracing::error!(
                redis = server,
                "Redis was restarted and has thrown away what scripts had changed since its append-only file was last \
                 rewritten, jobs and results among it: {DEFAULT_USER_REMEDY}"
            );
        }
        state.learn_restart(key, lost);
        if is_news {
            self.restore_after_loss().await?;
        }
        let raised: Option<u64> = links.ask(redis::cmd("EVAL").arg(RAISE).arg(1).arg(key)).await?;
        if let Some(count) = raised {
            links.plain(redis::cmd("HSET").arg(key).arg("outside").arg(count)).await?;
        }
        Ok(raised.is_some())
    }
}
