//! The domain's verbs as methods of the client. Most tests need one queue, `default`.

use serde_json::{Value, json};

use super::http::{Answer, Client};

/// A job that a worker has reserved.
#[derive(Debug, Clone)]
pub struct ReservedJob {
    pub id: String,
    pub reservation: String,
    /// The job as the answer shows it.
    pub body: Value,
}

impl ReservedJob {
    pub fn new(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}")).to_owned();
        Self { id: text("id"), reservation: text("reservation"), body: value.clone() }
    }

    pub fn number(&self, key: &str) -> u64 {
        self.body[key].as_u64().unwrap_or_else(|| panic!("{key} in {}", self.body))
    }
}

impl Client {
    /// Enqueues a payload in `default`; answers the job's id.
    pub async fn enqueue(&self, payload: impl Into<Value>) -> String {
        self.enqueue_with(json!({ "payload": payload.into() })).await
    }

    /// Enqueues a job with any fields; answers its id.
    pub async fn enqueue_with(&self, job: Value) -> String {
        let answer = self.send_enqueue(job).await;
        let id = id_of(&answer.is(201));
        assert_eq!(answer.header("location"), Some(format!("jobs/{id}").as_str()));
        id
    }

    pub async fn send_enqueue(&self, job: Value) -> Answer {
        self.post("/jobs", job).await
    }

    /// Enqueues jobs in one call; answers their ids in order.
    pub async fn enqueue_many(&self, jobs: impl IntoIterator<Item = Value>) -> Vec<String> {
        let answer = self.post("/jobs", Value::Array(jobs.into_iter().collect())).await.is(200);
        answer["jobs"].as_array().expect("jobs").iter().map(id_of).collect()
    }

    /// Sends a reserve; answers the response as it is.
    pub async fn send_reserve(&self, request: Value) -> Answer {
        self.post("/jobs/reserve", request).await
    }

    /// Reserves one job of `default` without a worker name.
    pub async fn reserve(&self) -> ReservedJob {
        self.reserve_with(json!({})).await
    }

    /// Reserves one job of `default` for a named worker.
    pub async fn reserve_as(&self, worker: &str) -> ReservedJob {
        self.reserve_with(json!({ "worker": worker })).await
    }

    /// One job.
    pub async fn reserve_with(&self, request: Value) -> ReservedJob {
        let held = self.reserve_all(request).await;
        assert_eq!(held.len(), 1, "{held:?}");
        held.into_iter().next().expect("one")
    }

    pub async fn reserve_all(&self, request: Value) -> Vec<ReservedJob> {
        let answer = self.send_reserve(request).await.is(200);
        answer["jobs"].as_array().expect("jobs").iter().map(ReservedJob::new).collect()
    }

    /// Expects no job; answers the reason.
    pub async fn empty_reason(&self, request: Value) -> String {
        let answer = self.send_reserve(request).await.is(200);
        assert_eq!(answer["jobs"], json!([]), "{answer}");
        answer["reason"].as_str().expect("a reason").to_owned()
    }

    pub async fn extend(&self, held: &ReservedJob) -> Answer {
        self.post("/jobs/extend", json!({ "reservation": held.reservation })).await
    }

    pub async fn complete(&self, held: &ReservedJob) -> Answer {
        self.post("/jobs/complete", json!({ "reservation": held.reservation })).await
    }

    pub async fn complete_with(&self, held: &ReservedJob, result: impl Into<Value>) -> Answer {
        self.post("/jobs/complete", json!({ "reservation": held.reservation, "result": result.into() })).await
    }

    /// Completes a job as a page does that may take that back.
    pub async fn close(&self, held: &ReservedJob, result: impl Into<Value>, undo_ms: u64) -> Answer {
        let (reservation, resumes) = (&held.reservation, &held.body["resumes"]);
        let call =
            json!({ "reservation": reservation, "result": result.into(), "undo_ms": undo_ms, "resumes": resumes });
        self.post("/jobs/complete", call).await
    }

    /// Takes the completion back.
    pub async fn undo(&self, held: &ReservedJob) -> Answer {
        self.post("/jobs/undo", json!({ "reservation": held.reservation })).await
    }

    pub async fn abandon(&self, held: &ReservedJob) -> Answer {
        self.post("/jobs/abandon", json!({ "reservation": held.reservation })).await
    }

    pub async fn abandon_with_delay(&self, held: &ReservedJob, delay_ms: u64) -> Answer {
        self.post("/jobs/abandon", json!({ "reservation": held.reservation, "delay_ms": delay_ms })).await
    }

    pub async fn fail(&self, held: &ReservedJob) -> Answer {
        self.fail_with(held, "it broke").await
    }

    pub async fn fail_with(&self, held: &ReservedJob, error: &str) -> Answer {
        self.post("/jobs/fail", json!({ "reservation": held.reservation, "error": error })).await
    }

    pub async fn job(&self, id: &str) -> Value {
        self.get(&format!("/jobs/{id}")).await.is(200)
    }

    pub async fn state(&self, id: &str) -> String {
        self.job(id).await["state"].as_str().expect("a state").to_owned()
    }

    pub async fn cancel(&self, id: &str) -> Answer {
        self.delete(&format!("/jobs/{id}")).await
    }

    pub async fn force_cancel(&self, id: &str) -> Answer {
        self.delete(&format!("/jobs/{id}?force=true")).await
    }

    pub async fn set_priority(&self, id: &str, priority: u64) -> Answer {
        self.patch(&format!("/jobs/{id}"), json!({ "priority": priority })).await
    }

    pub async fn release(&self, id: &str) -> u64 {
        number(&self.post("/jobs/release", json!({ "id": id })).await.is(200), "released")
    }

    pub async fn release_worker(&self, worker: &str) -> u64 {
        number(&self.post("/jobs/release", json!({ "queue": "default", "worker": worker })).await.is(200), "released")
    }

    pub async fn requeue(&self, id: &str) -> u64 {
        number(&self.post("/jobs/requeue", json!({ "id": id })).await.is(200), "requeued")
    }

    pub async fn requeue_all(&self) -> u64 {
        number(&self.post("/jobs/requeue", json!({ "queue": "default" })).await.is(200), "requeued")
    }

    /// Runs the sweep until nothing is left; answers the sums of its counts.
    pub async fn sweep(&self) -> Value {
        let mut sum = json!({ "expired": 0, "due": 0, "dead": 0, "forgotten": 0 });
        loop {
            let step = self.post("/queues/default/sweep", json!({})).await.is(200);
            let mut moved = u64::from(step["more"] == true);
            for (key, total) in sum.as_object_mut().expect("an object") {
                moved += number(&step, key);
                *total = json!(total.as_u64().expect("a number") + number(&step, key));
            }
            if moved == 0 {
                return sum;
            }
        }
    }

    pub async fn update_settings(&self, settings: Value) -> Value {
        self.configure("default", settings).await["settings"].clone()
    }

    /// Changes settings of a queue, which may be new.
    pub async fn configure(&self, queue: &str, settings: Value) -> Value {
        let answer = self.patch(&format!("/queues/{queue}"), settings).await;
        let queue = answer.is(if answer.status == 201 { 201 } else { 200 });
        assert_eq!(queue["created"], answer.status == 201, "{queue}");
        queue
    }

    pub async fn queue(&self) -> Value {
        self.get("/queues/default").await.is(200)
    }

    /// The ids of a state, first page.
    pub async fn list_ids(&self, state: &str) -> Vec<String> {
        let page = self.get(&format!("/queues/default/jobs?state={state}&limit=100")).await.is(200);
        page["jobs"].as_array().expect("jobs").iter().map(id_of).collect()
    }
}

pub fn id_of(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

pub fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key} in {value}"))
}
