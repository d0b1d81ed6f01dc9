//! Bodies. They are read with a limit and a deadline, and every refusal is a problem.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use tokio::sync::OwnedMutexGuard;

use crate::{
    http::{
        middleware::{
            auth::Admission,
            body_budget::{Purse, Share},
        },
        request::{
            body::{is_json, read},
            fields::Fields,
        },
        response::problem::{Failure, Problem},
    },
    text::{UTF16_RULE, is_utf16},
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
    /// A problem, when it is not text.
    pub fn text(&self) -> Result<&str, Problem> {
        text(&self.0)
    }

    /// # Errors
    /// A problem, when it is not an object.
    pub fn fields(&self) -> Result<Fields<'_>, Problem> {
        Fields::of(self.text()?)
    }

    /// The same of `{}`, when there is no body.
    ///
    /// # Errors
    /// A problem, when it is not an object.
    pub fn fields_if_any(&self) -> Result<Fields<'_>, Problem> {
        if self.0.is_empty() { Fields::of("{}") } else { self.fields() }
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
        return Err(Problem::new(Failure::NotJson, "the body is empty"));
    }
    if is_utf16(body) {
        return Err(Problem::new(Failure::NotJson, UTF16_RULE));
    }
    std::str::from_utf8(body).map_err(|error| Problem::new(Failure::NotJson, format!("not UTF-8: {error}")))
}

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    fn from_request(request: Request, _: &S) -> impl Future<Output = Result<Self, Problem>> + Send {
        let rule = "send the body as application/json";
        let reading = purse(&request).and_then(|purse| read(request, &purse, rule, is_json));
        async move {
            let (body, share) = reading?.await?;
            Ok(Self(body, share))
        }
    }
}

impl<S: Sync> FromRequest<S> for BeaconBody {
    type Rejection = Problem;

    fn from_request(request: Request, _: &S) -> impl Future<Output = Result<Self, Problem>> + Send {
        let rule = "send the body as application/json or text/plain";
        let takes = |essence: &str| is_json(essence) || essence == "text/plain";
        let reading = purse(&request).and_then(|purse| Ok((read(request, &purse, rule, takes)?, purse)));
        async move {
            let (reading, purse) = reading?;
            let (body, share) = reading.await?;
            Ok(Self(body, share, purse.turn().await))
        }
    }
}

/// Who lets requests in has put it there.
///
/// # Errors
/// A problem of ours, when nobody has.
pub fn purse(request: &Request) -> Result<Purse, Problem> {
    request.extensions().get::<Admission>().map(|admission| admission.purse.clone()).ok_or_else(|| {
        tracing::error!("nobody pays for a body");
        Problem::internal()
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::{body::Body, http::header};

    use super::*;
    use crate::{access::Access, http::middleware::body_budget::Bodies, job::limits};

    fn paid(request: Request) -> Request {
        let mut request = request;
        request
            .extensions_mut()
            .insert(Admission { pass: None, purse: Purse::of_known(&Bodies::new(Access::off()), None) });
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
    fn only_text_is_json() {
        for wrong in [&b""[..], b"\xff"] {
            assert_eq!(type_of(&text(wrong).expect_err("not text")), "/problems/not-json");
        }
    }
}
