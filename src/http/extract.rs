//! Bodies and paths. They are read with a limit and a deadline, and every refusal is a problem.

use std::time::Duration;

use axum::{
    RequestPartsExt,
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{HeaderMap, header, request::Parts},
};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::value::RawValue;

use super::{
    guard,
    place::Place,
    problem::{Failure, Problem},
};
use crate::{
    access::Caller,
    job::{BatchId, JobId, Name, QueueName, limits},
};

/// For the whole body, however it trickles in.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A body that says it is JSON.
pub struct JsonBody(pub Bytes);

/// JSON that may call itself plain text: `navigator.sendBeacon` can say nothing else without a preflight.
pub struct BeaconBody(pub Bytes);

impl JsonBody {
    /// # Errors
    /// A problem, when it is not JSON.
    pub fn json(&self) -> Result<&RawValue, Problem> {
        json(&self.0)
    }

    /// The body, or `{}` when there is none.
    ///
    /// # Errors
    /// A problem, when it is not JSON.
    pub fn json_or_nothing(&self) -> Result<&RawValue, Problem> {
        json(if self.0.is_empty() { b"{}" } else { &self.0 })
    }
}

impl BeaconBody {
    /// # Errors
    /// A problem, when it is not JSON.
    pub fn json(&self) -> Result<&RawValue, Problem> {
        json(&self.0)
    }
}

fn json(body: &[u8]) -> Result<&RawValue, Problem> {
    let not_json = |why: String| Problem::new(Failure::NotJson, why);
    if body.is_empty() {
        return Err(not_json("the body is empty".to_owned()));
    }
    let text = std::str::from_utf8(body).map_err(|error| not_json(format!("not UTF-8: {error}")))?;
    serde_json::from_str(text).map_err(|error| not_json(error.to_string()))
}

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read(request, "send the body as application/json", is_json).await.map(Self)
    }
}

impl<S: Sync> FromRequest<S> for BeaconBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let rule = "send the body as application/json or text/plain";
        read(request, rule, |essence| is_json(essence) || essence == "text/plain").await.map(Self)
    }
}

async fn read(request: Request, rule: &'static str, takes: fn(&str) -> bool) -> Result<Bytes, Problem> {
    let too_large = || Problem::new(Failure::TooLarge, format!("a body has at most {} bytes", limits::BODY));
    if !request.body().is_end_stream() && !is_plain(request.headers()) {
        return Err(Problem::packed());
    }
    let known = essence(request.headers()).is_some_and(|essence| takes(&essence));
    let body = request.into_body();
    if !known && !body.is_end_stream() {
        return Err(Problem::new(Failure::UnsupportedMediaType, rule));
    }
    if body.size_hint().lower() > limits::BODY as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, Limited::new(body, limits::BODY).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(Failure::NotJson, "the body broke off")),
        Err(_) => Err(Problem::new(Failure::RequestTimeout, "the body did not arrive in time")),
    }
}

/// Whether a body is as it is, and not packed in some way that would have to be undone first.
fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings =
        headers.get_all(header::CONTENT_ENCODING).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
    codings.all(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// `type/subtype` without parameters: a charset says nothing that JSON leaves open.
fn essence(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next()?.trim().to_ascii_lowercase())
}

fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.split_once('/').is_some_and(|(_, subtype)| subtype.ends_with("+json"))
}

/// The job of a path. An id that no job can have is as unknown as one that no job has, or that is not the caller's business.
pub struct JobInPath(pub JobId);

/// The batch of a path, likewise.
pub struct BatchInPath(pub BatchId);

/// The queue of a path that can be asked about: one that no queue can be named is unknown.
pub struct QueueInPath(pub QueueName);

/// The queue of a path that may come into being by this call.
pub struct NewQueueInPath(pub QueueName);

/// The worker of a path.
pub struct WorkerInPath(pub Name);

impl<S: Send + Sync> FromRequestParts<S> for JobInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, &()).await?;
        let id = segment(parts).await.and_then(|text| JobId::parse(&text).ok()).ok_or_else(Problem::unknown_job)?;
        guard::job(&caller, &id).map(|()| Self(id))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BatchInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, &()).await?;
        let id = segment(parts).await.and_then(|text| BatchId::parse(&text).ok()).ok_or_else(Problem::unknown_batch)?;
        guard::batch(&caller, &id).map(|()| Self(id))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for QueueInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let queue = segment(parts).await.and_then(|text| QueueName::parse(&text).ok());
        let queue = queue.ok_or_else(Problem::unknown_queue)?;
        guard::queue(&Caller::from_request_parts(parts, &()).await?, &queue).map(|()| Self(queue))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for NewQueueInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let queue = segment(parts).await.and_then(|text| QueueName::parse(&text).ok());
        let queue = queue.ok_or_else(|| Problem::invalid(vec![Place::parameter("queue", QueueName::RULE)]))?;
        guard::queue(&Caller::from_request_parts(parts, &()).await?, &queue).map(|()| Self(queue))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WorkerInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let worker = segment(parts).await.and_then(|text| Name::of_worker(&text).ok());
        worker.map(Self).ok_or_else(|| Problem::invalid(vec![Place::parameter("worker", Name::WORKERS_RULE)]))
    }
}

/// A route has one parameter at most. `None`: it is not Unicode text.
async fn segment(parts: &mut Parts) -> Option<String> {
    parts.extract::<Path<String>>().await.ok().map(|Path(text)| text)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;

    use super::*;

    async fn sent(content_type: &str, body: impl Into<Body>) -> Result<Bytes, Problem> {
        let request =
            Request::builder().header(header::CONTENT_TYPE, content_type).body(body.into()).expect("a request");
        JsonBody::from_request(request, &()).await.map(|body| body.0)
    }

    fn type_of(problem: &Problem) -> String {
        serde_json::to_value(problem).expect("JSON")["type"].as_str().expect("text").to_owned()
    }

    #[tokio::test]
    async fn json_by_any_of_its_names_is_taken() {
        for name in
            ["application/json", "Application/JSON; charset=utf-8", "application/cloudevents+json", "a/b+json;x=y"]
        {
            assert!(sent(name, "1").await.is_ok(), "{name}");
        }
        for name in ["", "text/plain", "application/jsonp", "+json", "application/x-www-form-urlencoded", "é"] {
            let refusal = sent(name, "1").await.expect_err(name);
            assert_eq!(type_of(&refusal), "/problems/unsupported-media-type");
            assert!(sent(name, "").await.is_ok(), "nothing has no type: {name}");
        }
    }

    #[tokio::test]
    async fn a_beacon_is_plain_text() {
        let request =
            || Request::builder().header(header::CONTENT_TYPE, "text/plain;charset=UTF-8").body(Body::from("1"));
        assert!(BeaconBody::from_request(request().expect("a request"), &()).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_too_large_is_refused_announced_or_not() {
        let large = vec![b' '; limits::BODY + 1];
        let chunks: Vec<_> = large.chunks(1 << 20).map(|chunk| Ok::<_, Infallible>(chunk.to_vec())).collect();
        let stream = futures_util::stream::iter(chunks);
        for body in [Body::from(large.clone()), Body::from_stream(stream)] {
            let refusal = sent("application/json", body).await.expect_err("too large");
            assert_eq!(type_of(&refusal), "/problems/too-large");
        }
        assert!(sent("application/json", vec![b' '; limits::BODY]).await.is_ok());
    }

    #[test]
    fn what_is_not_json_is_said_so() {
        for wrong in
            [&b""[..], b"\xff", b"{", b"nul", b"{\"a\":1}x", b"\xef\xbb\xbf1", b"01", b"'a'", b"\"\x01\"", b"\"\\x\""]
        {
            assert_eq!(type_of(&json(wrong).expect_err("not JSON")), "/problems/not-json");
        }
        for right in ["1e400", r#""\ud800""#, " [1,{}] ", &format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))] {
            assert_eq!(json(right.as_bytes()).expect("JSON").get(), right.trim());
        }
    }
}
