//! Answers that hold their read permit, and count against its memory, until they are sent.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::{task::AbortHandle, time::sleep};

use crate::{
    http::response::json::{JSON, text},
    job::limits,
    waiting::ReadPermit,
    waits::hurried,
};

/// Bytes that are handed to the connection at a time, as a copy.
const CHUNK_BYTES: usize = 16 << 10;
/// A reader who has not taken an answer, or a page of an export, after this time is cut off, and the memory is free.
const TAKE_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 60_000 });

/// Answers with JSON, and holds the permit until it is sent.
pub fn answer(turn: ReadPermit, answer: &impl Serialize) -> Response {
    match text(answer) {
        Ok(text) => ([(header::CONTENT_TYPE, JSON)], body(turn, text)).into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// A body that holds the permit until it is sent.
pub fn body(turn: ReadPermit, text: Bytes) -> Body {
    if text.len() <= limits::SMALL_ANSWER {
        Body::from(text)
    } else {
        Body::new(ChunkedBody(CountedAnswer::new(turn, text)))
    }
}

/// What is in memory for a reader, with its permit, until the reader has taken it or was too slow.
pub struct UntilTaken<T> {
    held: Arc<Mutex<Option<T>>>,
    timer: AbortHandle,
}

impl<T: Send + 'static> UntilTaken<T> {
    pub fn new(what: T) -> Self {
        let held = Arc::new(Mutex::new(Some(what)));
        let expiring = held.clone();
        let timer = tokio::spawn(async move {
            sleep(hurried(TAKE_TIMEOUT)).await;
            drop(expiring.lock().take());
        });
        Self { held, timer: timer.abort_handle() }
    }

    /// Uses it.
    ///
    /// # Errors
    /// When the reader was too slow.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> io::Result<R> {
        self.held.lock().as_mut().map(work).ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

impl<T> UntilTaken<T> {
    fn free(&self) {
        drop(self.held.lock().take());
    }
}

impl<T> Drop for UntilTaken<T> {
    fn drop(&mut self) {
        self.timer.abort();
    }
}

/// Splits off the next chunk.
pub fn take_chunk(rest: &mut Bytes) -> Bytes {
    Bytes::copy_from_slice(&rest.split_to(rest.len().min(CHUNK_BYTES)))
}

/// An answer in memory.
pub struct CountedAnswer {
    left: usize,
    held: UntilTaken<(Bytes, ReadPermit)>,
}

impl CountedAnswer {
    pub fn new(turn: ReadPermit, text: impl Into<Bytes>) -> Self {
        let text = text.into();
        turn.finish_read(text.len());
        Self { left: text.len(), held: UntilTaken::new((text, turn)) }
    }

    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// # Errors
    /// When the reader was too slow.
    pub fn next_chunk(&mut self) -> io::Result<Bytes> {
        let chunk = self.held.with(|(rest, _)| take_chunk(rest))?;
        self.left -= chunk.len();
        if self.is_empty() {
            self.held.free();
        }
        Ok(chunk)
    }
}

/// A large answer, sent in chunks.
struct ChunkedBody(CountedAnswer);

impl http_body::Body for ChunkedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(self.0.next_chunk().map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.left as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        store::Queues,
        waiting::{ReaderId, Waiting},
    };

    /// A reader who takes parts of the answer, but not all of it in time.
    #[tokio::test]
    async fn answer_that_is_not_taken_in_time_is_cut_and_its_memory_is_free() {
        let queues = Queues::new("redis://localhost", "t:").expect("a URL");
        let waiting = Waiting::new(queues, CancellationToken::new());
        let ann = ReaderId::new("ann".into(), "ann".into());
        let turn = waiting.page_permit(&ann).await.expect("a permit");
        let mut slow = body(turn, vec![b'x'; limits::ANSWERS / 4 * 3].into());
        let next = waiting.page_permit(&ann);
        tokio::pin!(next);
        loop {
            tokio::select! {
                biased;
                granted = &mut next => break drop(granted.expect("the memory is free while the answer is still open")),
                () = sleep(TAKE_TIMEOUT / 10) => assert!(slow.frame().await.expect("a frame").is_ok(), "a part is taken"),
            }
        }
        assert!(slow.frame().await.expect("a frame").is_err(), "the answer is cut");
    }
}
