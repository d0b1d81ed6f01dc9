//! What an operator may set.

use intray::{job::Backoff, queue::SettingsPatch};

/// One setting, or back to its default.
#[derive(Debug, Clone, Copy)]
pub enum Setting {
    Paused(Option<bool>),
    LeaseMs(Option<u32>),
    MaxHoldMs(Option<u32>),
    MaxAttempts(Option<u32>),
    Backoff(Option<Backoff>),
    Dedupe(Option<bool>),
    WorkerLimit(Option<u32>),
    ShareDrafts(Option<bool>),
    RetentionMs(Option<u32>),
    RetentionMax(Option<u32>),
    MaxJobs(Option<u32>),
}

impl Setting {
    pub fn default_of(name: &str) -> Self {
        match name {
            "paused" => Self::Paused(None),
            "lease_ms" => Self::LeaseMs(None),
            "max_hold_ms" => Self::MaxHoldMs(None),
            "max_attempts" => Self::MaxAttempts(None),
            "backoff" => Self::Backoff(None),
            "dedupe" => Self::Dedupe(None),
            "worker_limit" => Self::WorkerLimit(None),
            "share_drafts" => Self::ShareDrafts(None),
            "retention_ms" => Self::RetentionMs(None),
            "retention_max" => Self::RetentionMax(None),
            _ => Self::MaxJobs(None),
        }
    }

    pub fn patch(self) -> SettingsPatch {
        let mut patch = SettingsPatch::default();
        match self {
            Self::Paused(to) => patch.paused = Some(to),
            Self::LeaseMs(to) => patch.lease_ms = Some(to),
            Self::MaxHoldMs(to) => patch.max_hold_ms = Some(to),
            Self::MaxAttempts(to) => patch.max_attempts = Some(to),
            Self::Backoff(to) => patch.backoff = Some(to),
            Self::Dedupe(to) => patch.dedupe = Some(to),
            Self::WorkerLimit(to) => patch.worker_limit = Some(to),
            Self::ShareDrafts(to) => patch.share_drafts = Some(to),
            Self::RetentionMs(to) => patch.retention_ms = Some(to),
            Self::RetentionMax(to) => patch.retention_max = Some(to),
            Self::MaxJobs(to) => patch.max_jobs = Some(to),
        }
        patch
    }
}
