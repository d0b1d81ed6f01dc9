//! Makes a new job from a line that `intray export` wrote.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use intray_job::{QueueName, State};

/// The fields that a producer sets. The job's history is dropped, because the new job starts over.
#[derive(Deserialize, Serialize)]
struct RestoredJob<'l> {
    #[serde(borrow)]
    queue: Cow<'l, str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    payload: Option<&'l RawValue>,
    #[serde(borrow)]
    priority: &'l RawValue,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    client: Option<&'l RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    lease_ms: Option<&'l RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    max_attempts: Option<&'l RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    backoff: Option<&'l RawValue>,
    #[serde(borrow)]
    locks: &'l RawValue,
    #[serde(borrow, rename(serialize = "run_at"), skip_serializing_if = "Option::is_none")]
    due_at: Option<&'l RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<&'l RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    sla_at: Option<&'l RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    breached: Option<bool>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    assignees: Option<&'l RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    excluded: Option<&'l RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    skill: Option<&'l RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    fallback_ms: Option<&'l RawValue>,
    #[serde(borrow, skip_serializing)]
    state: Cow<'l, str>,
    /// Always false: exported jobs with equal payloads were separate jobs, and each one is kept.
    #[serde(skip_deserializing)]
    dedupe: bool,
}

/// Returns `None` if the line is not an exported job.
pub fn again(text: &[u8], queue: Option<&QueueName>) -> Option<Vec<u8>> {
    let mut job: RestoredJob<'_> = serde_json::from_slice(text).ok()?;
    // A job that an older version cancelled has no payload left. In any other state, null is the payload.
    if job.state != State::Cancelled.word() {
        job.payload.get_or_insert(RawValue::NULL);
    }
    // A job that has ended starts over without the times of its first life. Any other one keeps them, and is refused if it has expired.
    if [State::Completed, State::Dead, State::Cancelled].iter().any(|state| job.state == state.word()) {
        (job.expires_at, job.sla_at) = (None, None);
    }
    if job.sla_at.is_none() {
        job.breached = None;
    }
    // The backoff of an attempt may outlast the job. The new job has had no attempt.
    if let (Some(due), Some(expires)) = (job.due_at, job.expires_at)
        && due.get() >= expires.get()
    {
        job.due_at = None;
    }
    // A job that has fallen back to all workers stays for all.
    if job.assignees.is_none() && job.skill.is_none() {
        job.fallback_ms = None;
    }
    if let Some(queue) = queue {
        job.queue = queue.as_str().into();
    }
    serde_json::to_vec(&job).ok()
}

#[cfg(test)]
mod tests {
    use super::again;

    fn restored(state: &str) -> String {
        let line = format!(
            r#"{{"queue":"q","payload":1,"priority":5,"client":null,"lease_ms":null,"max_attempts":null,"backoff":null,"locks":[],"due_at":null,"expires_at":"2026-11-21T09:00:00.000Z","sla_at":null,"state":"{state}"}}"#
        );
        String::from_utf8(again(line.as_bytes(), None).expect("an exported job")).expect("text")
    }

    #[test]
    fn restored_job_is_for_the_same_workers() {
        let restored = |fields: &str| {
            let job = r#"{"queue":"q","payload":1,"priority":5,"client":null,"lease_ms":null,"max_attempts":null,"backoff":null,"locks":[],"due_at":null,"state":"waiting""#;
            let line = again(format!("{job},{fields}}}").as_bytes(), None).expect("an exported job");
            serde_json::from_slice::<serde_json::Value>(&line).expect("JSON")
        };
        let job = restored(
            r#""assignees":["ann"],"excluded":["bob"],"skill":"de","fallback_ms":5000,"fallback_at":"2026-11-21T09:00:00.000Z","handed_to":{"worker":"cleo"}"#,
        );
        assert_eq!(
            (&job["assignees"][0], &job["excluded"][0], &job["skill"]),
            (&"ann".into(), &"bob".into(), &"de".into())
        );
        assert_eq!(job["fallback_ms"], 5_000);
        assert!(job.get("fallback_at").is_none() && job.get("handed_to").is_none(), "{job}");
        let fallen =
            restored(r#""assignees":null,"excluded":["bob"],"skill":null,"fallback_ms":5000,"fallback_at":null"#);
        assert_eq!(fallen["excluded"][0], "bob");
        for absent in ["assignees", "skill", "fallback_ms"] {
            assert!(fallen.get(absent).is_none(), "{fallen}");
        }
    }

    #[test]
    fn job_without_an_sla_does_not_say_whether_it_was_breached() {
        let restored = |sla: &str| {
            let line = format!(
                r#"{{"queue":"q","payload":1,"priority":5,"client":null,"lease_ms":null,"max_attempts":null,"backoff":null,"locks":[],"due_at":null,"sla_at":{sla},"breached":false,"state":"waiting"}}"#
            );
            String::from_utf8(again(line.as_bytes(), None).expect("an exported job")).expect("text")
        };
        assert!(!restored("null").contains("breached"), "{}", restored("null"));
        assert!(restored(r#""2026-11-21T09:00:00.000Z""#).contains(r#""breached":false"#));
    }

    #[test]
    fn job_that_has_not_ended_keeps_its_expiry() {
        for state in ["waiting", "blocked", "delayed", "reserved"] {
            assert!(restored(state).contains(r#""expires_at":"2026-11-21T09:00:00.000Z""#), "{}", restored(state));
            assert!(!restored(state).contains("sla_at"), "{}", restored(state));
        }
        for state in ["completed", "dead"] {
            assert!(!restored(state).contains("expires_at"), "{}", restored(state));
        }
    }
}
