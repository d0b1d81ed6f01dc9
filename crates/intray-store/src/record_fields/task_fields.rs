//! The fields of an enqueue: the rare ones of a call, and those by which equal jobs may differ.

use super::{Field, LONG, TIME, uint};

/// How the scripts look for a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    QueueSetting = 0,
    Always = 1,
    ByKey = 2,
}

/// The rare fields of a new job: the lookup, its delay in ms, and when it runs.
pub(super) const RARE: [Field; 3] = [uint("lookup", 1), TIME, TIME];
/// Then, of a job with a route: the first ms and the one after the last at which its times are valid, and the route.
pub(super) const VALID: [Field; 3] = [TIME, TIME, LONG];

/// The kinds of a backoff; 0 for none.
pub(crate) const FIXED: u8 = 1;
pub(crate) const EXPONENTIAL: u8 = 2;

/// In what a job may differ from an equal one, as the scripts number them; a time has a name for each of its forms.
pub(crate) const TASK_FIELDS: [&str; 16] = [
    "payload",
    "priority",
    "locks",
    "lease_ms",
    "max_attempts",
    "backoff",
    "delay_ms",
    "run_at",
    "expires_ms",
    "expires_at",
    "sla_ms",
    "sla_at",
    "assignees",
    "excluded",
    "skill",
    "fallback_ms",
];
