//! Answers that hold their turn to read, and count against its memory, until they have gone out.

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

/// Bytes of an answer that are handed to the connection at a time: it copies what it is given.
const PIECE: usize = 16 << 10;

/// What was read, as JSON. With it ends the turn.
pub fn answer(turn: ReadPermit, answer: &impl Serialize) -> Response {
    match text(answer) {
        Ok(text) => ([(header::CONTENT_TYPE, JSON)], body(turn, text)).into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// A text that was read, on its way out. With it ends the turn.
pub fn body(turn: ReadPermit, text: Bytes) -> Body {
    if text.len() <= limits::SMALL_ANSWER { Body::from(text) } else { Body::new(Pieces(counted(turn, text))) }
}

/// The same bytes, which count as long as any part of them is in memory.
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

/// Takes the next piece off a text.
pub fn piece(rest: &mut Bytes) -> Bytes {
    rest.split_to(rest.len().min(PIECE))
}

/// A large answer on its way out.
struct Pieces(Bytes);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(Frame::data(piece(&mut self.0)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
