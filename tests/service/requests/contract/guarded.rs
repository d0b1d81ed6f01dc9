//! Services with access control, for the answers that only these give.

use super::Operation;
use crate::world::{
    Answer, World,
    access::{self, SECRET},
    contract::CONTRACT,
    eventually,
};

pub struct Guarded {
    /// With a secret to sign tokens.
    pub issuing: World,
    /// With a rate limit of one call a second.
    pub limited: World,
}

impl Guarded {
    pub async fn start() -> Self {
        let keys = [("desk", "worker", "*"), ("web", "producer", "*"), ("far", "operator", "else*")];
        let issuing = World::plan().own_process().with_keys(&keys).flag("--token-secret", SECRET).start().await;
        Self { issuing, limited: World::plan().own_process().with_keys(&[]).flag("--rate-limit", "1").start().await }
    }

    pub async fn unauthenticated(&self, operation: &Operation<'_>) -> Answer {
        self.issuing.without_credential().request(operation.method, &operation.path).json("{}").send().await
    }

    /// With a key of a role that may not make the call.
    pub async fn other_role(&self, operation: &Operation<'_>) -> Answer {
        let documented = &CONTRACT.document["paths"][operation.template][operation.method.to_lowercase()];
        let is_for_workers = documented["security"][0]["bearer"][0] == "worker";
        let other = match operation.template {
            // Every role reads the form of its queues.
            "/queues/{queue}/form" => "far",
            _ if is_for_workers => "web",
            _ => "desk",
        };
        let client = self.issuing.with_credential(&access::key(other));
        client.request(operation.method, &operation.path).json("{}").send().await
    }

    /// Without a key, and with guessed reservations.
    pub async fn guessing(&self, operation: &Operation<'_>) -> Answer {
        let code = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
        let guess = format!(r#"{{"reservation":"default-{code}.{code}"}}"#);
        let guesses = format!("[{}]", vec![guess; 100].join(","));
        let stranger = self.issuing.without_credential();
        eventually("a guess is over the limit", async || {
            let answer = stranger.request(operation.method, &operation.path).json(guesses.clone()).send().await;
            (answer.status == 429).then_some(answer)
        })
        .await
    }

    /// At a service without a token secret.
    pub async fn unsigned(&self, operation: &Operation<'_>) -> Answer {
        let token = r#"{"worker":"ann","queues":["default"]}"#;
        eventually("a call is within the rate", async || {
            let answer = self.limited.request(operation.method, &operation.path).json(token).send().await;
            (answer.status != 429).then_some(answer)
        })
        .await
    }
}
