//! How a body is read: with a deadline, and no more of it than its caller may have in hand.

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
        middleware::body_budget::{Purse, Share},
        response::{
            json::JSON,
            problem::{Failure, Problem},
        },
    },
    text::MARK,
};

/// For the whole body, however it trickles in.
const BODY_TIME: Duration = Duration::from_secs(30);

/// What reads the body of a request that has the right head, of which nothing is kept meanwhile.
///
/// # Errors
/// A problem.
pub fn read(
    request: Request,
    purse: &Purse,
    rule: &'static str,
    takes: fn(&str) -> bool,
) -> Result<impl Future<Output = Result<(Bytes, Share), Problem>> + Send + use<>, Problem> {
    if !request.body().is_end_stream() && !is_plain(request.headers()) {
        return Err(Problem::packed());
    }
    let known = essence(request.headers()).is_some_and(|essence| takes(&essence));
    let body = request.into_body();
    if !known && !body.is_end_stream() {
        return Err(Problem::new(Failure::UnsupportedMediaType, rule));
    }
    let (most, share) = (purse.most(), purse.open());
    if body.size_hint().lower() > most as u64 {
        return Err(too_large(most));
    }
    Ok(async move {
        let late = |_| Err(Problem::new(Failure::RequestTimeout, "the body did not arrive in time"));
        tokio::time::timeout(BODY_TIME, gather(body, most, share)).await.unwrap_or_else(late)
    })
}

/// Takes what has arrived, and no more than its caller may have in hand. A body that came in one piece is not copied.
async fn gather(mut body: Body, most: usize, mut share: Share) -> Result<(Bytes, Share), Problem> {
    let mut pieces = Pieces::default();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(Failure::NotJson, "the body broke off"))?;
        let Ok(piece) = frame.into_data() else { continue };
        let size = pieces.len() + piece.len();
        if size > most {
            return Err(too_large(most));
        }
        share.grow(size)?;
        pieces.add(piece);
    }
    Ok((pieces.whole(), share))
}

/// What has arrived of a body.
#[derive(Default)]
struct Pieces {
    first: Bytes,
    all: BytesMut,
}

impl Pieces {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn add(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        // The pieces are parts of the connection's buffer, and would keep much more of it than they are.
        self.all.extend_from_slice(&std::mem::take(&mut self.first));
        self.all.extend_from_slice(&piece);
    }

    /// Without the mark that may stand before the text.
    fn whole(self) -> Bytes {
        let mut whole = if self.all.is_empty() { self.first } else { self.all.freeze() };
        if whole.starts_with(MARK) {
            whole.advance(MARK.len());
        }
        whole
    }
}

fn too_large(most: usize) -> Problem {
    Problem::new(Failure::TooLarge, format!("a body has at most {most} bytes here"))
}

/// Whether a body is as it is, and not packed in some way that would have to be undone first.
pub fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings =
        headers.get_all(header::CONTENT_ENCODING).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
    codings.all(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// `type/subtype` without parameters: a charset says nothing that JSON leaves open.
fn essence(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    // Of two, whoever is in front of this may have gone by the other one.
    let value = values.next().filter(|_| values.next().is_none())?;
    if *value == JSON {
        // What nearly everybody says is not looked at letter by letter.
        return Some("application/json".into());
    }
    let essence = value.to_str().ok()?.split(';').next()?.trim();
    let is_lower = !essence.bytes().any(|byte| byte.is_ascii_uppercase());
    Some(if is_lower { essence.into() } else { essence.to_ascii_lowercase().into() })
}

/// Whether a body says that it is of a type which is not JSON; most say at once that they are.
pub fn is_of(headers: &HeaderMap, kind: &str) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| *value != JSON)
        && essence(headers).is_some_and(|essence| essence == kind)
}

pub fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.split_once('/').is_some_and(|(_, subtype)| subtype.ends_with("+json"))
}
