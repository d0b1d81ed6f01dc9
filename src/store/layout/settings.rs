//! The settings of a queue in Redis: only those that are set, by name.

use crate::job::{
    Backoff,
    settings::{DEFAULT, Settings, SettingsPatch},
};
use crate::store::{
    fault::Fault,
    layout::record,
    redis::{args::Args, read::broken},
};

impl Settings {
    /// Reads what `set` has written.
    pub(crate) fn read(fields: &[(String, String)]) -> Result<Self, Fault> {
        let mut settings = DEFAULT;
        for (name, value) in fields {
            let number = || value.parse::<u32>().map_err(|_| broken("a number"));
            match name.as_str() {
                "paused" => settings.paused = value == "1",
                "lease_ms" => settings.lease_ms = number()?,
                "max_hold_ms" => settings.max_hold_ms = number()?,
                "warn_ms" => settings.warn_ms = number()?,
                "max_attempts" => settings.max_attempts = number()?,
                "backoff" => settings.backoff = read_backoff(value).ok_or_else(|| broken("a backoff"))?,
                "dedupe" => settings.dedupe = value == "1",
                "worker_limit" => settings.worker_limit = number()?,
                "share_drafts" => settings.share_drafts = value == "1",
                "retention_ms" => settings.retention_ms = number()?,
                "retention_max" => settings.retention_max = number()?,
                "max_jobs" => settings.max_jobs = number()?,
                _ => {} // a setting of a newer version
            }
        }
        Ok(settings)
    }
}

impl SettingsPatch {
    pub(crate) fn write(&self, args: &mut Args) {
        let mut put = |name: &str, value: Option<Option<String>>| {
            if let Some(value) = value {
                args.push(name).push(value.unwrap_or_default());
            }
        };
        let flag = |patch: Option<Option<bool>>| patch.map(|set| set.map(|on| u8::from(on).to_string()));
        let number = |patch: Option<Option<u32>>| patch.map(|set| set.map(|n| n.to_string()));
        put("paused", flag(self.paused));
        put("lease_ms", number(self.lease_ms));
        put("max_hold_ms", number(self.max_hold_ms));
        put("warn_ms", number(self.warn_ms));
        put("max_attempts", number(self.max_attempts));
        put("backoff", self.backoff.map(|set| set.map(write_backoff)));
        put("dedupe", flag(self.dedupe));
        put("worker_limit", number(self.worker_limit));
        put("share_drafts", flag(self.share_drafts));
        put("retention_ms", number(self.retention_ms));
        put("retention_max", number(self.retention_max));
        put("max_jobs", number(self.max_jobs));
    }
}

fn write_backoff(backoff: Backoff) -> String {
    let (kind, delay, most) = record::backoff_parts(backoff);
    format!("{kind} {delay} {most}")
}

fn read_backoff(text: &str) -> Option<Backoff> {
    let mut parts = text.split(' ').map(str::parse::<u32>);
    let mut next = || parts.next()?.ok();
    Some(record::backoff_of((u8::try_from(next()?).ok()?, next()?, next()?)))
}
