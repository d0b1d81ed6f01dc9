//! Body extractors; every refusal is a problem.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use tokio::sync::OwnedMutexGuard;

use crate::{
    http::{
        middleware::{
            auth::AuthOutcome,
            body_budget::{BodyBudget, ReservedBytes},
        },
        request::{
            body::{is_json, read},
            fields::JsonFields,
        },
        response::problem::{Problem, ProblemType},
    },
    text::{UTF16_RULE, is_utf16},
};

/// A JSON body.
pub struct JsonBody(pub Bytes, #[expect(dead_code, reason = "given back when it is dropped")] ReservedBytes);

/// A JSON body that may be labelled `text/plain`, because `navigator.sendBeacon` can send no other type without a
/// preflight. It holds the permit of a client that has to wait for one.
pub struct BeaconBody(
    pub Bytes,
    #[expect(dead_code, reason = "given back when it is dropped")] ReservedBytes,
    #[expect(dead_code, reason = "over when it is dropped")] Option<OwnedMutexGuard<()>>,
);

impl JsonBody {
    /// # Errors
    /// A problem, when the body is not UTF-8 text.
    pub fn text(&self) -> Result<&str, Problem> {
        text(&self.0)
    }

    /// # Errors
    /// A problem, when it is not an object.
    pub fn fields(&self) -> Result<JsonFields<'_>, Problem> {
        JsonFields::of(self.text()?)
    }

    /// The same, where an empty body stands for `{}`.
    ///
    /// # Errors
    /// A problem, when it is not an object.
    pub fn fields_if_any(&self) -> Result<JsonFields<'_>, Problem> {
        if self.0.is_empty() { JsonFields::of("{}") } else { self.fields() }
    }
}

impl BeaconBody {
    /// # Errors
    /// A problem, when it is not text.
    pub fn text(&self) -> Result<&str, Problem> {
        text(&self.0)
    }
}

fn text(body: &[u8]) -> Result<&str, Problem> {
    if body.is_empty() {
        return Err(Problem::new(ProblemType::NotJson, "the body is empty"));
    }
    if is_utf16(body) {
        return Err(Problem::new(ProblemType::NotJson, UTF16_RULE));
    }
    std::str::from_utf8(body).map_err(|error| Problem::new(ProblemType::NotJson, format!("not UTF-8: {error}")))
}

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    fn from_request(request: Request, _: &S) -> impl Future<Output = Result<Self, Problem>> + Send {
        let rule = "send the body as application/json";
        let reading = body_budget(&request).and_then(|budget| read(request, &budget, rule, is_json));
        async move {
            let (body, reserved) = reading?.await?;
            Ok(Self(body, reserved))
        }
    }
}

impl<S: Sync> FromRequest<S> for BeaconBody {
    type Rejection = Problem;

    fn from_request(request: Request, _: &S) -> impl Future<Output = Result<Self, Problem>> + Send {
        let rule = "send the body as application/json or text/plain";
        let takes = |essence: &str| is_json(essence) || essence == "text/plain";
        let reading = body_budget(&request).and_then(|budget| Ok((read(request, &budget, rule, takes)?, budget)));
        async move {
            let (reading, budget) = reading?;
            let (body, reserved) = reading.await?;
            Ok(Self(body, reserved, budget.failure_permit().await))
        }
    }
}

/// The budget that authorization inserted.
///
/// # Errors
/// `500`, when a route has no authorization.
pub fn body_budget(request: &Request) -> Result<BodyBudget, Problem> {
    request.extensions().get::<AuthOutcome>().map(|admission| admission.budget.clone()).ok_or_else(|| {
        tracing::error!("no body budget in the request extensions: the middleware is missing");
        Problem::internal()
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::{body::Body, http::header};

    use super::*;
    use crate::{access::Access, http::middleware::body_budget::MemoryPool, job::limits};

    fn paid(request: Request) -> Request {
        let mut request = request;
        request.extensions_mut().insert(AuthOutcome {
            pass: None,
            budget: BodyBudget::authenticated(&MemoryPool::new(Access::off()), None),
        });
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
    async fn json_media_types_are_accepted() {
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
    async fn beacon_accepts_text_plain() {
        let request =
            || Request::builder().header(header::CONTENT_TYPE, "text/plain;charset=UTF-8").body(Body::from("1"));
        assert!(BeaconBody::from_request(paid(request().expect("a request")), &()).await.is_ok());
    }

    #[tokio::test]
    async fn oversized_body_is_refused_with_and_without_a_length() {
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
    fn body_that_is_not_text_is_not_json() {
        for wrong in [&b""[..], b"\xff"] {
            assert_eq!(type_of(&text(wrong).expect_err("not text")), "/problems/not-json");
        }
    }
}
