//! Calls of a service: each on a connection of its own, which goes with its answer.

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
use crate::client::Service;

pub const NDJSON: &str = "application/x-ndjson";

/// More of a refusal is not read.
const REFUSAL: usize = 64 << 10;

/// Why there is no good answer, or not all of it.
pub enum Failure {
    /// It may be otherwise in a while.
    Passing(anyhow::Error),
    Final(anyhow::Error),
}

/// What a problem says.
#[derive(Debug, Deserialize)]
pub struct ServiceRefusal {
    pub status: u16,
    pub detail: String,
}

impl From<ServiceRefusal> for Failure {
    fn from(refusal: ServiceRefusal) -> Self {
        let error = anyhow!(refusal.detail);
        if matches!(refusal.status, 408 | 429 | 502..=504 | 507) { Self::Passing(error) } else { Self::Final(error) }
    }
}

/// A good answer of that kind, with its body unread.
///
/// # Errors
/// When there is none. Whatever else answers there, a page that says "welcome" with 200, is no service of ours.
pub async fn call(
    service: &Service,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Bytes,
    kind: &str,
) -> Result<Response<Incoming>, Failure> {
    let sent = send(service, (method, path), headers, body, silence::LONGEST).await;
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
    most: Duration,
) -> anyhow::Result<Response<Incoming>> {
    let mut request = service.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (body, taken) = Pieces::of(body);
    let request = request.body(body)?;
    let answer = async {
        let mut wire = service.connect().await?;
        anyhow::Ok(answered(most, &taken, wire.send_request(request)).await??)
    };
    answer.await.with_context(|| format!("no answer from {}", service.url))
}

/// Whether it has shown a certificate that it has no right to, which the next one will hardly be better than.
fn is_mistrust(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref());
    causes.any(|cause| matches!(cause, rustls::Error::InvalidCertificate(_)))
}

/// All that is answered.
///
/// # Errors
/// When it breaks off, or nothing more of it comes.
pub async fn whole<B: Body<Error: std::error::Error + Send + Sync + 'static>>(
    body: B,
    most: Duration,
) -> anyhow::Result<Bytes> {
    Ok(heard(most, body.collect()).await??.to_bytes())
}

/// Why an answer is no good one.
async fn refusal(answer: Response<Incoming>) -> ServiceRefusal {
    let status = answer.status().as_u16();
    let body = http_body_util::Limited::new(answer.into_body(), REFUSAL);
    let body = heard(silence::LONGEST, body.collect()).await.ok().and_then(Result::ok);
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

    /// It hears a call begin, says so much, and then nothing more until the caller has gone.
    fn falls_silent_after(beginning: &'static str) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a caller");
            // An answer that is there before its call is no answer.
            stream.read_exact(&mut [0; 4]).expect("a call");
            stream.write_all(beginning.as_bytes()).expect("a reader");
            std::io::copy(&mut stream, &mut std::io::sink())
        });
        Service::open(address)
    }

    async fn sent(service: &Service, most: Duration) -> anyhow::Result<Response<Incoming>> {
        send(service, ("POST", "/jobs"), &[], Bytes::from_static(b"{}"), most).await
    }

    #[tokio::test]
    async fn silent_service_does_not_block_a_command_for_ever() {
        let error = sent(&falls_silent_after(""), SHORT).await.expect_err("no answer");
        assert!(format!("{error:#}").contains("nothing came"), "{error:#}");
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{";
        let answer = sent(&falls_silent_after(head), silence::LONGEST).await.expect("a head");
        let error = whole(answer.into_body(), SHORT).await.expect_err("one byte of three");
        assert!(error.to_string().contains("nothing came"), "{error:#}");
    }
}
