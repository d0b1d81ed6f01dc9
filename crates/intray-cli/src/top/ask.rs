//! Calls of a running service.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{StatusCode, client::conn::http1::SendRequest};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::timeout;

use crate::{client::Service, remote, terminal::clean};

/// Timeout for each answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum bytes of an answer, enough for a page of a thousand queues.
const ANSWER_BYTES: usize = 16 << 20;

/// A connection for the calls of one refresh.
pub(super) struct Talk<'s> {
    service: &'s Service,
    requests: SendRequest<Empty<Bytes>>,
}

/// The part of an error answer that is written for people.
#[derive(Deserialize)]
struct ProblemDetail {
    detail: String,
}

impl<'s> Talk<'s> {
    pub(super) async fn with(service: &'s Service) -> Result<Self, String> {
        let connected = service.connect().await;
        let requests = connected.map_err(|error| format!("no answer from {}: {error}", service.url))?;
        Ok(Self { service, requests })
    }

    /// Reads the JSON at a path.
    pub(super) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, String> {
        let url = &self.service.url;
        match timeout(PATIENCE, self.exchange(path)).await {
            Ok(Ok((StatusCode::OK, body))) => {
                serde_json::from_slice(&body).map_err(|_| format!("{url} is no service that this program knows"))
            }
            Ok(Ok((status, body))) => {
                let detail = serde_json::from_slice::<ProblemDetail>(&body).map(|refusal| clean(&refusal.detail));
                let detail = detail.as_deref().unwrap_or("it is none of intray's answers");
                Err(format!("{url} answered {status}: {detail}{}", remote::hint(status.as_u16())))
            }
            Ok(Err(error)) => Err(format!("no answer from {url}: {error}")),
            Err(_) => Err(format!("no answer from {url} in time")),
        }
    }

    async fn exchange(&mut self, path: &str) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let request = self.service.request("GET", path).body(Empty::new())?;
        // Right after an answer, the connection may not be ready for another call yet.
        self.requests.ready().await?;
        let (head, body) = self.requests.send_request(request).await?.into_parts();
        Ok((head.status, Limited::new(body, ANSWER_BYTES).collect().await?.to_bytes()))
    }
}

#[cfg(test)]
mod tests;
