//! Calls of a service. Each call has its own connection, which closes after its answer.

use std::{io, time::Duration};

use anyhow::{Context, anyhow};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    HeaderMap, Response,
    body::{Body, Incoming},
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    retry_budget::AskedPause,
    silence::{self, Pieces, answered, heard},
};
use crate::{client::Service, remote, terminal::clean};

pub const NDJSON: &str = "application/x-ndjson";

/// Maximum bytes of an error answer that are read.
const REFUSAL: usize = 64 << 10;

/// The reason why an answer is missing or incomplete.
pub enum Failure {
    /// A retry may succeed, after the pause that the answer asks for.
    Passing(anyhow::Error, AskedPause),
    Final(anyhow::Error),
}

impl Failure {
    /// A failure whose retry may succeed, without an answer that asks for a pause.
    pub fn passing(error: impl Into<anyhow::Error>) -> Self {
        Self::Passing(error.into(), AskedPause::None)
    }
}

/// The fields of a problem answer (RFC 9457) that are used.
#[derive(Debug, Default, Deserialize)]
pub struct ServiceRefusal {
    #[serde(default, rename = "type")]
    kind: String,
    pub status: u16,
    pub detail: String,
    #[serde(default)]
    retry_after_ms: Value,
    /// The `Retry-After` of the answer.
    #[serde(skip)]
    retry_after: Option<Duration>,
}

impl ServiceRefusal {
    /// 511 is a network that asks for a login, which no retry brings.
    pub fn is_passing(&self) -> bool {
        matches!(self.status, 408 | 425 | 429 | 500..=510 | 512..=599)
    }

    pub fn pause(&self) -> AskedPause {
        let own = self.retry_after_ms.as_u64().filter(|ms| *ms > 0 && self.kind.starts_with("/problems/"));
        match (own, self.retry_after) {
            (Some(ms), _) => AskedPause::ByService(Duration::from_millis(ms)),
            (None, Some(pause)) => AskedPause::ByProxy(pause),
            (None, None) => AskedPause::None,
        }
    }
}

impl From<ServiceRefusal> for Failure {
    fn from(refusal: ServiceRefusal) -> Self {
        let error = anyhow!("{}{}", clean(&refusal.detail), remote::hint(refusal.status));
        if refusal.is_passing() { Self::Passing(error, refusal.pause()) } else { Self::Final(error) }
    }
}

/// Calls the service and returns a 200 answer of the content type `kind`, with its body unread.
///
/// # Errors
/// The call fails, or the answer has another content type: a welcome page with status 200 does not come from intray.
pub async fn call(
    service: &Service,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Bytes,
    kind: &str,
) -> Result<Response<Incoming>, Failure> {
    let sent = send(service, (method, path), headers, body, silence::ANSWER_TIMEOUT).await;
    let answer = sent.map_err(unanswered)?;
    if answer.status() != 200 {
        return Err(refusal(answer).await.into());
    }
    let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind) {
        return Err(Failure::Final(anyhow!(
            "what answers at {} is not intray: it answered {content_type:?}",
            service.url
        )));
    }
    Ok(answer)
}

async fn send(
    service: &Service,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Bytes,
    limit: Duration,
) -> anyhow::Result<Response<Incoming>> {
    let mut request = service.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (body, taken) = Pieces::of(body);
    let request = request.body(body)?;
    let answer = async {
        let mut wire = service.connect().await?;
        anyhow::Ok(answered(limit, &taken, wire.send_request(request)).await??)
    };
    answer.await.with_context(|| format!("no answer from {}", service.url))
}

/// Why there is no answer. If the peer's certificate is invalid, a retry is unlikely to get a valid one.
fn unanswered(error: anyhow::Error) -> Failure {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref());
    let is_mistrust = causes.any(|cause| matches!(cause, rustls::Error::InvalidCertificate(_)));
    if is_mistrust { Failure::Final(error) } else { Failure::passing(error) }
}

/// Reads the whole body of an answer.
///
/// # Errors
/// The body breaks off, or takes longer than `limit`.
pub async fn whole<B: Body<Error: std::error::Error + Send + Sync + 'static>>(
    body: B,
    limit: Duration,
) -> anyhow::Result<Bytes> {
    Ok(heard(limit, body.collect()).await??.to_bytes())
}

/// Posts JSON under an idempotency key. An answer that refuses what was sent is an outcome.
///
/// # Errors
/// The call fails, or is refused for another reason.
pub async fn post_json(
    service: &Service,
    path: &str,
    key: &str,
    body: Bytes,
) -> Result<Result<Bytes, ServiceRefusal>, Failure> {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    let sent = send(service, ("POST", path), &headers, body, silence::ANSWER_TIMEOUT).await;
    let answer = sent.map_err(unanswered)?;
    match answer.status().as_u16() {
        200 | 201 => whole(answer.into_body(), silence::ANSWER_TIMEOUT).await.map(Ok).map_err(Failure::passing),
        413 | 422 => Ok(Err(refusal(answer).await)),
        _ => Err(refusal(answer).await.into()),
    }
}

/// Reads the reason from an error answer.
async fn refusal(answer: Response<Incoming>) -> ServiceRefusal {
    let (status, retry_after) = (answer.status().as_u16(), seconds(answer.headers()));
    let body = http_body_util::Limited::new(answer.into_body(), REFUSAL);
    let body = heard(silence::ANSWER_TIMEOUT, body.collect()).await.ok().and_then(Result::ok);
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let other = |_| ServiceRefusal { detail: format!("it answered {status}"), ..ServiceRefusal::default() };
    ServiceRefusal { status, retry_after, ..serde_json::from_slice(&body).unwrap_or_else(other) }
}

/// The pause of `Retry-After`. Zero is none, and a date is none, because the clocks may differ.
fn seconds(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        thread,
    };

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    /// Reads the start of a call, sends `beginning`, and stays silent until the caller disconnects.
    fn falls_silent_after(beginning: &'static str) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a caller");
            // hyper accepts no answer that arrives before its call.
            stream.read_exact(&mut [0; 4]).expect("a call");
            stream.write_all(beginning.as_bytes()).expect("a reader");
            std::io::copy(&mut stream, &mut std::io::sink())
        });
        Service::open(address)
    }

    async fn sent(service: &Service, limit: Duration) -> anyhow::Result<Response<Incoming>> {
        send(service, ("POST", "/jobs"), &[], Bytes::from_static(b"{}"), limit).await
    }

    #[tokio::test]
    async fn silent_service_does_not_block_a_command_for_ever() {
        let error = sent(&falls_silent_after(""), SHORT).await.expect_err("no answer");
        assert!(format!("{error:#}").contains("nothing came"), "{error:#}");
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{";
        let answer = sent(&falls_silent_after(head), silence::ANSWER_TIMEOUT).await.expect("a head");
        let error = whole(answer.into_body(), SHORT).await.expect_err("one byte of three");
        assert!(error.to_string().contains("nothing came"), "{error:#}");
    }
}
