//! Calls of a service. Each call has its own connection, which closes after its answer.

use std::{io, time::Duration};

use anyhow::{Context, anyhow};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    Response,
    body::{Body, Incoming},
    header::CONTENT_TYPE,
};
use serde::Deserialize;

use super::silence::{self, Pieces, answered, heard};
use crate::{client::Service, remote, terminal::clean};

pub const NDJSON: &str = "application/x-ndjson";

/// Maximum bytes of an error answer that are read.
const REFUSAL: usize = 64 << 10;

/// The reason why an answer is missing or incomplete.
pub enum Failure {
    /// A retry may succeed.
    Passing(anyhow::Error),
    Final(anyhow::Error),
}

/// The fields of a problem answer (RFC 9457) that are used.
#[derive(Debug, Deserialize)]
pub struct ServiceRefusal {
    pub status: u16,
    pub detail: String,
}

impl From<ServiceRefusal> for Failure {
    fn from(refusal: ServiceRefusal) -> Self {
        let error = anyhow!("{}{}", clean(&refusal.detail), remote::hint(refusal.status));
        if matches!(refusal.status, 408 | 429 | 502..=504 | 507) { Self::Passing(error) } else { Self::Final(error) }
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
    let answer =
        sent.map_err(|error| if is_mistrust(&error) { Failure::Final(error) } else { Failure::Passing(error) })?;
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

/// Whether the peer's certificate is invalid. A retry is unlikely to get a valid one.
fn is_mistrust(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref());
    causes.any(|cause| matches!(cause, rustls::Error::InvalidCertificate(_)))
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

/// Reads the reason from an error answer.
async fn refusal(answer: Response<Incoming>) -> ServiceRefusal {
    let status = answer.status().as_u16();
    let body = http_body_util::Limited::new(answer.into_body(), REFUSAL);
    let body = heard(silence::ANSWER_TIMEOUT, body.collect()).await.ok().and_then(Result::ok);
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    serde_json::from_slice(&body).unwrap_or_else(|_| ServiceRefusal { status, detail: format!("it answered {status}") })
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
