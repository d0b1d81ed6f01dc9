use serde_json::json;

use super::*;

const JOB: &str = "reviews-01KAJ3V7Q2M8Z4R6T9XW5YB1CD";

fn taken_with(more: Value) -> Option<Caller> {
    taken(&token(Algorithm::EdDSA, Some("d"), &with(more), &ed()))
}

#[test]
fn token_is_for_queues_or_for_one_job() {
    let link = taken_with(json!({ "queues": null, "job": JOB })).expect("taken");
    assert_eq!(link.job.as_ref().map(ToString::to_string).as_deref(), Some(JOB));
    assert!(link.may_see(&QueueName::parse("reviews").expect("a queue")));
    assert!(!link.may_see(&QueueName::parse("calls-de").expect("a queue")));
    assert_eq!(taken_with(json!({})).expect("taken").job, None);
    for wrong in [
        json!({ "queues": null }),
        json!({ "queues": [] }),
        json!({ "queues": ["reviews"], "job": JOB }),
        json!({ "queues": null, "job": "reviews" }),
        json!({ "queues": null, "job": [JOB] }),
    ] {
        assert!(taken_with(wrong.clone()).is_none(), "{wrong}");
    }
}

#[test]
fn minted_token_for_one_job_has_no_queues() {
    let (worker, job) = (Name::parse("ann").expect("a name"), JobId::parse(JOB).expect("an id"));
    let signer = Signer::new(SECRET, "intray".to_owned());
    let token = signer.sign(&worker, &TokenScope::Job(job.clone()), &[], DAY, None, None).expect("signed").token;
    assert_eq!(taken(&token).expect("taken").job.as_ref(), Some(&job));
    // A version that does not know the claim would otherwise take the token for all jobs of the queue.
    let claims: Value = jsonwebtoken::dangerous::insecure_decode_claims(&token).expect("claims");
    assert_eq!((claims.get("queues"), &claims["job"]), (None, &json!(JOB)));
}
