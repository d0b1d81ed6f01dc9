//! The settings of a queue.

use serde::Serialize;

use super::{Backoff, ZoneName};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settings {
    pub paused: bool,
    pub lease_ms: u32,
    /// 0 = none
    pub max_hold_ms: u32,
    pub warn_ms: u32,
    /// 0 = no limit
    pub max_attempts: u32,
    pub backoff: Backoff,
    pub dedupe: bool,
    /// 0 = no limit
    pub worker_limit: u32,
    /// The next holder of a job gets the draft of the last one.
    pub share_drafts: bool,
    /// Workers list all jobs that they may have, not only those that are assigned to them.
    pub browse: bool,
    pub retention_ms: u32,
    pub retention_max: u32,
    /// 0 = no limit
    pub max_jobs: u32,
    /// What each worker did per day is counted.
    pub sheets: bool,
    /// How many days they are kept.
    pub sheets_days: u32,
    /// Its midnight begins a day.
    pub time_zone: ZoneName,
    /// The digest of the form that results must fit, in hex. The form itself is stored apart.
    pub result_schema_sha256: Option<String>,
}

/// The defaults. Scripts use the numbers by name.
pub const DEFAULT: Settings = Settings {
    paused: false,
    lease_ms: 300_000,
    max_hold_ms: 86_400_000,
    warn_ms: 60_000,
    max_attempts: 0,
    backoff: Backoff::None,
    dedupe: true,
    worker_limit: 1,
    share_drafts: false,
    browse: false,
    retention_ms: 604_800_000,
    retention_max: 100_000,
    max_jobs: 0,
    sheets: false,
    sheets_days: 35,
    time_zone: ZoneName::UTC,
    result_schema_sha256: None,
};

/// For each setting: `None` keeps it, `Some(None)` resets it to the default, `Some(Some(_))` sets it.
#[derive(Debug, Clone, Default)]
pub struct SettingsPatch {
    pub paused: Option<Option<bool>>,
    pub lease_ms: Option<Option<u32>>,
    pub max_hold_ms: Option<Option<u32>>,
    pub warn_ms: Option<Option<u32>>,
    pub max_attempts: Option<Option<u32>>,
    pub backoff: Option<Option<Backoff>>,
    pub dedupe: Option<Option<bool>>,
    pub worker_limit: Option<Option<u32>>,
    pub share_drafts: Option<Option<bool>>,
    pub browse: Option<Option<bool>>,
    pub retention_ms: Option<Option<u32>>,
    pub retention_max: Option<Option<u32>>,
    pub max_jobs: Option<Option<u32>>,
    pub sheets: Option<Option<bool>>,
    pub sheets_days: Option<Option<u32>>,
    pub time_zone: Option<Option<ZoneName>>,
    /// The text of a form, which the caller has parsed.
    pub result_schema: Option<Option<String>>,
}
