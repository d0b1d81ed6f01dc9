//! A job or batch in an answer, with the fields that the rules need.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportedItem {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    #[serde(skip_serializing_if = "is_not")]
    pub duplicate: bool,
    #[serde(skip_serializing_if = "is_not")]
    pub late: bool,
    #[serde(skip_serializing_if = "is_not")]
    pub resumed: bool,
    /// A completion that can be taken back.
    #[serde(skip_serializing_if = "is_not")]
    pub closing: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reservation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// For a reservation its attempt, for a job the counted attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late_results: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Refusal>,
}

/// By cause for a job, by state for a batch.
pub type Counts = BTreeMap<String, u64>;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// 0: no connection was made.
    pub status: u16,
    pub slug: String,
    /// The answer says that the call may have been applied.
    #[serde(default, skip_serializing_if = "is_not")]
    pub unsure: bool,
}

/// Stands for a value that no caller sent.
const NOT_OURS: u64 = u64::MAX;
/// Every 16th payload is stored apart from its record, some are too large for a full Redis.
const LARGE: u64 = 16;
const HUGE: u64 = 128;

/// The JSON of a number; the whole value is compared on reading.
pub fn text(n: u64) -> Value {
    let length = match n {
        n if n % HUGE == 0 => 5_000,
        n if n % LARGE == 0 => 1_500,
        n => n % 50,
    };
    json!({ "n": n, "text": "x".repeat(usize::try_from(length).unwrap_or(0)) })
}

/// The number of a JSON value.
pub fn value(json: &Value) -> Option<u64> {
    if json.is_null() {
        return None;
    }
    Some(json["n"].as_u64().filter(|&n| *json == text(n)).unwrap_or(NOT_OURS))
}

impl ReportedItem {
    pub fn read(json: &Value) -> Self {
        let word = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let name = |key: &str| json[key].as_str().map(str::to_owned);
        let late = json["late_results"].as_array();
        Self {
            id: word("id"),
            state: word("state"),
            duplicate: json["duplicate"] == true,
            late: json["late"] == true || json["completed"]["late"] == true,
            resumed: json["resumed"] == true,
            closing: json["final"] == false,
            resumes: json["resumes"].as_u64(),
            reservation: word("reservation"),
            worker: name("worker"),
            attempt: json["attempt"].as_u64().or(json["attempts"].as_u64()),
            payload: value(&json["payload"]),
            draft: value(&json["draft"]),
            result: value(&json["result"]),
            late_results: late.into_iter().flatten().filter_map(|one| value(&one["result"])).collect(),
            batch: name("batch"),
            counts: json["counts"].as_object().map(counts),
            error: json.get("error").map(Refusal::read),
        }
    }
}

pub fn counts(json: &serde_json::Map<String, Value>) -> Counts {
    json.iter().map(|(key, value)| (key.clone(), value.as_u64().unwrap_or(NOT_OURS))).collect()
}

impl Refusal {
    pub fn read(problem: &Value) -> Self {
        let status = problem["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or(0);
        let slug = problem["type"].as_str().unwrap_or_default().trim_start_matches("/problems/").to_owned();
        Self { status, slug, unsure: problem["applied"] == "unknown" }
    }
}

fn is_not(is: &bool) -> bool {
    !is
}
