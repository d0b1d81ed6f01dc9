//! Bodies and paths. They are read with a limit and a deadline, and every refusal is a problem.

use axum::{
    RequestPartsExt,
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::request::Parts,
};
use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::OwnedMutexGuard;

use super::{
    gather::{is_json, read},
    guard::{self, Admission},
    place::Place,
    problem::{Failure, Problem},
    purse::{Purse, Share},
};
use crate::{
    access::Caller,
    job::{BatchId, JobId, Name, QueueName},
};

/// A body that says it is JSON.
pub struct JsonBody(pub Bytes, #[expect(dead_code, reason = "given back when it is dropped")] Share);

/// JSON that may call itself plain text: `navigator.sendBeacon` can say nothing else without a preflight. With it comes the
/// turn of somebody who has to wait for one.
pub struct BeaconBody(
    pub Bytes,
    #[expect(dead_code, reason = "given back when it is dropped")] Share,
    #[expect(dead_code, reason = "over when it is dropped")] Option<OwnedMutexGuard<()>>,
);

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
        let purse = purse(&request)?;
        let (body, share) = read(request, &purse, "send the body as application/json", is_json).await?;
        Ok(Self(body, share))
    }
}

impl<S: Sync> FromRequest<S> for BeaconBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (purse, rule) = (purse(&request)?, "send the body as application/json or text/plain");
        let (body, share) = read(request, &purse, rule, |essence| is_json(essence) || essence == "text/plain").await?;
        Ok(Self(body, share, purse.turn().await))
    }
}

/// Who lets requests in has put it there.
fn purse(request: &Request) -> Result<Purse, Problem> {
    request.extensions().get::<Admission>().map(|admission| admission.purse.clone()).ok_or_else(|| {
        tracing::error!("nobody pays for a body");
        Problem::internal()
    })
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

    use axum::{body::Body, http::header};

    use super::{super::purse::Bodies, *};
    use crate::job::limits;

    fn paid(request: Request) -> Request {
        let mut request = request;
        request.extensions_mut().insert(Admission { pass: None, purse: Purse::of_known(&Bodies::default()) });
        request
    }

    async fn sent(content_type: &str, body: impl Into<Body>) -> Result<Bytes, Problem> {
        let request =
            Request::builder().header(header::CONTENT_TYPE, content_type).body(body.into()).expect("a request");
        JsonBody::from_request(paid(request), &()).await.map(|body| body.0)
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
        assert!(BeaconBody::from_request(paid(request().expect("a request")), &()).await.is_ok());
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
