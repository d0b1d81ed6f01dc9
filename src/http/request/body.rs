//! Extracts a body, read within its timeout and memory budget; every refusal is a problem.

use std::{borrow::Cow, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use bytes::{Buf, Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use serde_json::{Map, Value};
use tokio::sync::OwnedMutexGuard;

use crate::{
    http::{
        middleware::{
            auth::AuthOutcome,
            body_budget::{BodyBudget, ReservedBytes},
        },
        request::fields::JsonFields,
        response::{
            json::JSON,
            problem::{Problem, ProblemType},
        },
    },
    text::{MARK, UTF16_RULE, is_utf16},
    waits::hurried,
};

/// For the whole body, however slowly it arrives.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body.
pub struct JsonBody(pub Bytes, ReservedBytes);

/// A JSON body that may be labelled `text/plain`, because `navigator.sendBeacon` can send no other type without a
/// preflight. It holds the permit of a client that has to wait for one.
pub struct BeaconBody(pub JsonBody, pub Option<OwnedMutexGuard<()>>);

impl JsonBody {
    /// # Errors
    /// A problem, when the body is not UTF-8 text.
    pub fn text(&self) -> Result<&str, Problem> {
        let not_json = |why: String| Problem::new(ProblemType::NotJson, why);
        match &*self.0 {
            [] => Err(not_json("the body is empty".to_owned())),
            body if is_utf16(body) => Err(not_json(UTF16_RULE.to_owned())),
            body => std::str::from_utf8(body).map_err(|error| not_json(format!("not UTF-8: {error}"))),
        }
    }

    /// # Errors
    /// A problem, when it is not an object.
    pub fn fields(&self) -> Result<JsonFields<'_>, Problem> {
        JsonFields::of(self.text()?)
    }

    /// The fields of a body that was read and is valid, except some.
    pub fn parameters(&self, left_out: &[&str]) -> Map<String, Value> {
        let mut fields: Map<_, _> =
            self.text().ok().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        fields.retain(|name, _| !left_out.contains(&name.as_str()));
        fields
    }

    /// The same, where an empty body stands for `{}`.
    ///
    /// # Errors
    /// A problem, when it is not an object.
    pub fn fields_if_any(&self) -> Result<JsonFields<'_>, Problem> {
        if self.0.is_empty() { JsonFields::of("{}") } else { self.fields() }
    }
}

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    fn from_request(request: Request, _: &S) -> impl Future<Output = Result<Self, Problem>> + Send {
        let reading = read(request, "send the body as application/json", is_json);
        async move { reading?.await }
    }
}

impl<S: Sync> FromRequest<S> for BeaconBody {
    type Rejection = Problem;

    fn from_request(request: Request, _: &S) -> impl Future<Output = Result<Self, Problem>> + Send {
        let takes = |essence: &str| is_json(essence) || essence == "text/plain";
        let reading = read(request, "send the body as application/json or text/plain", takes);
        async move {
            let body = reading?.await?;
            let permit = body.1.failure_permit().await;
            Ok(Self(body, permit))
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

/// Checks the headers at once and returns a future that reads the body, so that the future holds nothing else of the
/// request.
///
/// # Errors
/// A problem.
fn read(
    request: Request,
    rule: &'static str,
    takes: fn(&str) -> bool,
) -> Result<impl Future<Output = Result<JsonBody, Problem>> + Send + use<>, Problem> {
    let budget = body_budget(&request)?;
    if !request.body().is_end_stream() && !is_plain(request.headers()) {
        return Err(Problem::content_encoding());
    }
    let known = essence(request.headers()).is_some_and(|essence| takes(&essence));
    let body = request.into_body();
    if !known && !body.is_end_stream() {
        return Err(Problem::new(ProblemType::UnsupportedMediaType, rule));
    }
    let (max, reserved) = (budget.max_bytes(), budget.reserve());
    if body.size_hint().lower() > max as u64 {
        return Err(too_large(max));
    }
    Ok(async move {
        let late = |_| Err(Problem::new(ProblemType::RequestTimeout, "the body did not arrive in time"));
        tokio::time::timeout(hurried(BODY_TIMEOUT), read_limited(body, max, reserved)).await.unwrap_or_else(late)
    })
}

/// Reads up to the limit, without a byte order mark. A body that arrives in one chunk is not copied.
async fn read_limited(mut body: Body, max: usize, mut reserved: ReservedBytes) -> Result<JsonBody, Problem> {
    let (mut whole, mut copy) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(ProblemType::NotJson, "the body broke off"))?;
        let Ok(piece) = frame.into_data() else { continue };
        let size = whole.len() + copy.len() + piece.len();
        if size > max {
            return Err(too_large(max));
        }
        reserved.grow(size)?;
        if size == piece.len() {
            whole = piece;
            continue;
        }
        // Chunks are slices of the connection's buffer and would keep all of it in memory.
        copy.extend_from_slice(&std::mem::take(&mut whole));
        copy.extend_from_slice(&piece);
    }
    if !copy.is_empty() {
        whole = copy.freeze();
    }
    if whole.starts_with(MARK) {
        whole.advance(MARK.len());
    }
    Ok(JsonBody(whole, reserved))
}

fn too_large(max: usize) -> Problem {
    Problem::new(ProblemType::TooLarge, format!("a body has at most {max} bytes here"))
}

/// Whether a body has no content coding that would have to be decoded.
pub fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings =
        headers.get_all(header::CONTENT_ENCODING).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
    codings.all(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// The media type without parameters: JSON is UTF-8 whatever the charset says.
fn essence(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    // With two values a proxy may have acted on the other one.
    let value = values.next().filter(|_| values.next().is_none())?;
    if *value == JSON {
        // The usual value is not parsed.
        return Some("application/json".into());
    }
    let essence = value.to_str().ok()?.split(';').next()?.trim();
    let is_lower = !essence.bytes().any(|byte| byte.is_ascii_uppercase());
    Some(if is_lower { essence.into() } else { essence.to_ascii_lowercase().into() })
}

/// Whether a body has another media type than JSON; the usual value is compared first.
pub fn is_of(headers: &HeaderMap, kind: &str) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| *value != JSON)
        && essence(headers).is_some_and(|essence| essence == kind)
}

fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.split_once('/').is_some_and(|(_, subtype)| subtype.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

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
        let budget = BodyBudget::authenticated(&MemoryPool::new(Access::off()), None);
        for wrong in [&b""[..], b"\xff"] {
            let body = JsonBody(Bytes::from_static(wrong), budget.reserve());
            assert_eq!(type_of(&body.text().expect_err("not text")), "/problems/not-json");
        }
    }
}
