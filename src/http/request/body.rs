//! Reads a body within its timeout and memory budget.

use std::{borrow::Cow, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, header},
};
use bytes::{Buf, Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;

use crate::{
    http::{
        middleware::body_budget::{BodyBudget, ReservedBytes},
        response::{
            json::JSON,
            problem::{Problem, ProblemType},
        },
    },
    text::MARK,
};

/// For the whole body, however slowly it arrives.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Checks the headers at once and returns a future that reads the body, so that the future holds nothing else of the
/// request.
///
/// # Errors
/// A problem.
pub fn read(
    request: Request,
    budget: &BodyBudget,
    rule: &'static str,
    takes: fn(&str) -> bool,
) -> Result<impl Future<Output = Result<(Bytes, ReservedBytes), Problem>> + Send + use<>, Problem> {
    if !request.body().is_end_stream() && !is_plain(request.headers()) {
        return Err(Problem::content_encoding());
    }
    let known = essence(request.headers()).is_some_and(|essence| takes(&essence));
    let body = request.into_body();
    if !known && !body.is_end_stream() {
        return Err(Problem::new(ProblemType::UnsupportedMediaType, rule));
    }
    let (most, reserved) = (budget.max_bytes(), budget.reserve());
    if body.size_hint().lower() > most as u64 {
        return Err(too_large(most));
    }
    Ok(async move {
        let late = |_| Err(Problem::new(ProblemType::RequestTimeout, "the body did not arrive in time"));
        tokio::time::timeout(BODY_TIMEOUT, read_limited(body, most, reserved)).await.unwrap_or_else(late)
    })
}

/// Reads up to the limit. A body that arrives in one chunk is not copied.
async fn read_limited(
    mut body: Body,
    most: usize,
    mut reserved: ReservedBytes,
) -> Result<(Bytes, ReservedBytes), Problem> {
    let mut pieces = BodyChunks::default();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(ProblemType::NotJson, "the body broke off"))?;
        let Ok(piece) = frame.into_data() else { continue };
        let size = pieces.len() + piece.len();
        if size > most {
            return Err(too_large(most));
        }
        reserved.grow(size)?;
        pieces.add(piece);
    }
    Ok((pieces.into_bytes(), reserved))
}

/// The chunks of a body.
#[derive(Default)]
struct BodyChunks {
    first: Bytes,
    all: BytesMut,
}

impl BodyChunks {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn add(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        // Chunks are slices of the connection's buffer and would keep all of it in memory.
        self.all.extend_from_slice(&std::mem::take(&mut self.first));
        self.all.extend_from_slice(&piece);
    }

    /// Without a byte order mark.
    fn into_bytes(self) -> Bytes {
        let mut whole = if self.all.is_empty() { self.first } else { self.all.freeze() };
        if whole.starts_with(MARK) {
            whole.advance(MARK.len());
        }
        whole
    }
}

fn too_large(most: usize) -> Problem {
    Problem::new(ProblemType::TooLarge, format!("a body has at most {most} bytes here"))
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

pub fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.split_once('/').is_some_and(|(_, subtype)| subtype.ends_with("+json"))
}
