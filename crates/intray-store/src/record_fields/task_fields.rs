//! The fields of an enqueue by which equal jobs may differ.

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
