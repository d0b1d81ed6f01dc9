//! Calls of a service: each on a connection of its own, which goes with its answer.

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Response, body::Incoming};
use serde::Deserialize;

use crate::client::Service;

/// More of a refusal is not read.
const REFUSAL: usize = 64 << 10;

/// What a problem says.
#[derive(Debug, Deserialize)]
pub struct Refusal {
    pub status: u16,
    pub detail: String,
}

impl Refusal {
    pub fn of_a_file(error: &std::io::Error) -> Self {
        Self { status: 400, detail: error.to_string() }
    }

    /// It may be otherwise in a while.
    pub fn passes(&self) -> bool {
        matches!(self.status, 408 | 429 | 502..=504 | 507)
    }
}

/// The answer, whatever it is, with its body unread.
///
/// # Errors
/// When there is none.
pub async fn call(
    service: &Service,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> anyhow::Result<Response<Incoming>> {
    let mut request = service.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body))?;
    let answer = async { anyhow::Ok(service.connect().await?.send_request(request).await?) };
    answer.await.with_context(|| format!("no answer from {}", service.url))
}

/// Why an answer is no good one.
pub async fn refusal(answer: Response<Incoming>) -> Refusal {
    let status = answer.status().as_u16();
    let body = http_body_util::Limited::new(answer.into_body(), REFUSAL).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    serde_json::from_slice(&body).unwrap_or_else(|_| Refusal { status, detail: format!("it answered {status}") })
}
