//! The stored settings of a queue, by name.

use intray_redis::{Args, Fault};
use serde_json::Value;

use crate::job::{
    Backoff, ZoneName,
    settings::{DEFAULT, Settings, SettingsPatch},
};
use crate::{
    layout::record,
    redis::read::broken,
    sha256::{Sha256, hex},
};

/// The setting that names the form of a queue, whose text is stored apart.
const FORM_DIGEST: &str = "result_schema_sha256";

/// What became of a change of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    Set,
    /// The queue was not there.
    Made,
    /// There is no such queue, and none was to be made.
    Unknown,
    /// The limit of queues is reached.
    TooManyQueues,
}

/// Reads what `set` has written.
pub(crate) fn read_settings(fields: &[(String, String)]) -> Result<Settings, Fault> {
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
            "browse" => settings.browse = value == "1",
            "retention_ms" => settings.retention_ms = number()?,
            "retention_max" => settings.retention_max = number()?,
            "max_jobs" => settings.max_jobs = number()?,
            "sheets" => settings.sheets = value == "1",
            "sheets_days" => settings.sheets_days = number()?,
            // A newer version may know more zones.
            "time_zone" => settings.time_zone = ZoneName::parse(value).unwrap_or(ZoneName::UTC),
            FORM_DIGEST => settings.result_schema_sha256 = Some(value.clone()),
            _ => {} // a setting of a newer version
        }
    }
    Ok(settings)
}

/// The value of a stored setting; `Null` for none, which is the default. `None`: it is broken.
pub(crate) fn setting(name: &str, stored: &str) -> Option<Value> {
    if stored.is_empty() {
        return Some(Value::Null);
    }
    let settings = read_settings(&[(name.to_owned(), stored.to_owned())]).ok()?;
    let of_newer_version = || Value::from(stored);
    let all = serde_json::to_value(settings).ok()?;
    Some(all.get(name).cloned().unwrap_or_else(of_newer_version))
}

pub(crate) fn write_patch(patch: &SettingsPatch, args: &mut Args) {
    let mut put = |name: &str, value: Option<Option<String>>| {
        if let Some(value) = value {
            args.push(name).push(value.unwrap_or_default());
        }
    };
    let flag = |value: Option<Option<bool>>| value.map(|set| set.map(|on| u8::from(on).to_string()));
    let number = |value: Option<Option<u32>>| value.map(|set| set.map(|n| n.to_string()));
    put("paused", flag(patch.paused));
    put("lease_ms", number(patch.lease_ms));
    put("max_hold_ms", number(patch.max_hold_ms));
    put("warn_ms", number(patch.warn_ms));
    put("max_attempts", number(patch.max_attempts));
    put("backoff", patch.backoff.map(|set| set.map(write_backoff)));
    put("dedupe", flag(patch.dedupe));
    put("worker_limit", number(patch.worker_limit));
    put("share_drafts", flag(patch.share_drafts));
    put("browse", flag(patch.browse));
    put("retention_ms", number(patch.retention_ms));
    put("retention_max", number(patch.retention_max));
    put("max_jobs", number(patch.max_jobs));
    put("sheets", flag(patch.sheets));
    put("sheets_days", number(patch.sheets_days));
    let digest = |text: &String| hex(Sha256::digest(text));
    put(FORM_DIGEST, patch.result_schema.as_ref().map(|set| set.as_ref().map(digest)));
    put("time_zone", patch.time_zone.as_ref().map(|set| set.as_ref().map(ToString::to_string)));
}

fn write_backoff(backoff: Backoff) -> String {
    let (kind, delay, max) = record::backoff_parts(backoff);
    format!("{kind} {delay} {max}")
}

fn read_backoff(text: &str) -> Option<Backoff> {
    let mut parts = text.split(' ').map(str::parse::<u32>);
    let mut next = || parts.next()?.ok();
    Some(record::backoff_of((u8::try_from(next()?).ok()?, next()?, next()?)))
}
