//! Answers that hold their read permit, and count against its memory, until they are sent.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serde::Serialize;

use crate::{
    http::response::json::{JSON, text},
    job::limits,
    waiting::ReadPermit,
};

/// Bytes that are handed to the connection at a time, because it copies them.
const CHUNK_BYTES: usize = 16 << 10;

/// Answers with JSON, and holds the permit until it is sent.
pub fn answer(turn: ReadPermit, answer: &impl Serialize) -> Response {
    match text(answer) {
        Ok(text) => ([(header::CONTENT_TYPE, JSON)], body(turn, text)).into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// A body that holds the permit until it is sent.
pub fn body(turn: ReadPermit, text: Bytes) -> Body {
    if text.len() <= limits::SMALL_ANSWER { Body::from(text) } else { Body::new(ChunkedBody(counted(turn, text))) }
}

/// The same bytes, counted as long as any part of them is in memory.
pub fn counted(turn: ReadPermit, text: impl AsRef<[u8]> + Send + 'static) -> Bytes {
    struct Counted<T>(T, #[expect(dead_code, reason = "given back when it is dropped")] ReadPermit);
    impl<T: AsRef<[u8]>> AsRef<[u8]> for Counted<T> {
        fn as_ref(&self) -> &[u8] {
            self.0.as_ref()
        }
    }
    turn.finish_read(text.as_ref().len());
    Bytes::from_owner(Counted(text, turn))
}

/// Splits off the next chunk.
pub fn next_chunk(rest: &mut Bytes) -> Bytes {
    rest.split_to(rest.len().min(CHUNK_BYTES))
}

/// A large answer, sent in chunks.
struct ChunkedBody(Bytes);

impl http_body::Body for ChunkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(Frame::data(next_chunk(&mut self.0)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
