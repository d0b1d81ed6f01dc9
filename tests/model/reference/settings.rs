//! Settings and their defaults, as the contract prints them.

use intray::{job::Backoff, queue::Settings};

use super::{Event, Queue};
use crate::ops::Setting;

pub(super) const DEFAULT: Settings = Settings {
    paused: false,
    lease_ms: 300_000,
    max_hold_ms: 86_400_000,
    warn_ms: 60_000,
    max_attempts: 0,
    backoff: Backoff::None,
    dedupe: true,
    worker_limit: 1,
    share_drafts: false,
    retention_ms: 3_600_000,
    retention_max: 100_000,
    max_jobs: 0,
};

impl Queue {
    pub fn set(&mut self, setting: Setting) {
        self.be_known();
        let was = self.settings.paused;
        let s = &mut self.settings;
        let (name, is_chosen) = match setting {
            Setting::Paused(to) => ("paused", put(&mut s.paused, to, DEFAULT.paused)),
            Setting::LeaseMs(to) => ("lease_ms", put(&mut s.lease_ms, to, DEFAULT.lease_ms)),
            Setting::MaxHoldMs(to) => ("max_hold_ms", put(&mut s.max_hold_ms, to, DEFAULT.max_hold_ms)),
            Setting::MaxAttempts(to) => ("max_attempts", put(&mut s.max_attempts, to, DEFAULT.max_attempts)),
            Setting::Backoff(to) => ("backoff", put(&mut s.backoff, to, DEFAULT.backoff)),
            Setting::Dedupe(to) => ("dedupe", put(&mut s.dedupe, to, DEFAULT.dedupe)),
            Setting::WorkerLimit(to) => ("worker_limit", put(&mut s.worker_limit, to, DEFAULT.worker_limit)),
            Setting::ShareDrafts(to) => ("share_drafts", put(&mut s.share_drafts, to, DEFAULT.share_drafts)),
            Setting::RetentionMs(to) => ("retention_ms", put(&mut s.retention_ms, to, DEFAULT.retention_ms)),
            Setting::RetentionMax(to) => ("retention_max", put(&mut s.retention_max, to, DEFAULT.retention_max)),
            Setting::MaxJobs(to) => ("max_jobs", put(&mut s.max_jobs, to, DEFAULT.max_jobs)),
        };
        if is_chosen {
            self.chosen.insert(name)
        } else {
            self.chosen.remove(name)
        };
        if self.settings.paused != was {
            let kind = if was { "unpaused" } else { "paused" };
            let [job, kind, nobody] = ["0".repeat(26), kind.to_owned(), String::new()];
            self.told.push(Event { job, kind, worker: nobody.clone(), client: nobody.clone(), note: nobody });
        }
    }
}

fn put<T>(slot: &mut T, to: Option<T>, default: T) -> bool {
    let is_chosen = to.is_some();
    *slot = to.unwrap_or(default);
    is_chosen
}
