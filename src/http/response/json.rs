//! Answers in JSON.

use std::{
    cell::RefCell,
    convert::Infallible,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serde::Serialize;

use crate::{http::response::problem::Problem, store::Undo};

pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Most answers fit into this many bytes.
const USUAL: usize = 4 << 10;

thread_local! {
    /// The buffer that answers are written to. A small answer leaves as a copy, which takes no more memory than its
    /// length.
    static DRAFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub struct JsonResponse<T>(pub T);

impl<T: Serialize> IntoResponse for JsonResponse<T> {
    fn into_response(self) -> Response {
        match text(&self.0) {
            Ok(text) => ([(header::CONTENT_TYPE, JSON)], Body::from(text)).into_response(),
            Err(problem) => problem.into_response(),
        }
    }
}

/// # Errors
/// Logs the error and returns `500`, because an answer cannot be serialized.
pub fn text(answer: &impl Serialize) -> Result<Bytes, Problem> {
    DRAFT.with_borrow_mut(|draft| {
        draft.clear();
        match serde_json::to_writer(&mut *draft, answer) {
            Ok(()) if draft.len() <= USUAL => Ok(Bytes::copy_from_slice(draft)),
            Ok(()) => Ok(mem::take(draft).into()),
            Err(error) => {
                tracing::error!(%error, "an answer cannot be written");
                Err(Problem::internal())
            }
        }
    })
}

/// `201` with a `Location` relative to the request's address, because a proxy may serve it below a path (RFC 9110,
/// section 10.2.2).
pub fn created(place: &[&str], answer: impl Serialize) -> Response {
    match HeaderValue::try_from(place.concat()) {
        Ok(place) => (StatusCode::CREATED, [(header::LOCATION, place)], JsonResponse(answer)).into_response(),
        Err(_) => Problem::internal().into_response(),
    }
}

/// What to undo if the answer is dropped before it is written.
pub trait Guard: Send + Unpin + 'static {
    fn disarm(self);
}

impl Guard for Undo {
    fn disarm(self) {
        Undo::disarm(self);
    }
}

/// JSON with a guard. A reserve counts only if its answer is delivered: the guard takes the reservations back when it is
/// dropped. It is disarmed when the body is polled past its end, which the server does only after the text is written.
pub struct UndoOnDrop<G> {
    text: Option<Bytes>,
    guard: Option<G>,
}

impl<G: Guard> UndoOnDrop<G> {
    pub fn new(text: Bytes, guard: G) -> Self {
        Self { text: Some(text), guard: Some(guard) }
    }
}

impl<G: Guard> http_body::Body for UndoOnDrop<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let text = self.text.take();
        if text.is_none()
            && let Some(guard) = self.guard.take()
        {
            guard.disarm();
        }
        Poll::Ready(text.map(|text| Ok(Frame::data(text))))
    }

    fn is_end_stream(&self) -> bool {
        self.text.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.text.as_ref().map_or(0, Bytes::len) as u64)
    }
}

impl<G: Guard> IntoResponse for UndoOnDrop<G> {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, JSON)], Body::new(self)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use http_body::Body as _;
    use http_body_util::BodyExt;

    use super::*;

    /// True when the jobs were taken back.
    struct Witness(Arc<AtomicBool>, bool);

    impl Guard for Witness {
        fn disarm(mut self) {
            self.1 = false;
        }
    }

    impl Drop for Witness {
        fn drop(&mut self) {
            self.0.fetch_or(self.1, Ordering::SeqCst);
        }
    }

    fn delivery() -> (Response, Arc<AtomicBool>) {
        let undone = Arc::new(AtomicBool::new(false));
        (UndoOnDrop::new(Bytes::from_static(b"{}"), Witness(undone.clone(), true)).into_response(), undone)
    }

    #[tokio::test]
    async fn delivered_answer_is_not_undone() {
        let (response, undone) = delivery();
        assert_eq!(response.into_body().collect().await.expect("a body").to_bytes(), "{}");
        assert!(!undone.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn answer_dropped_before_it_is_written_is_undone() {
        let (response, undone) = delivery();
        drop(response);
        assert!(undone.load(Ordering::SeqCst));
        let (response, undone) = delivery();
        let mut body = response.into_body();
        body.frame().await.expect("a frame").expect("the text");
        assert!(body.is_end_stream(), "the text is all of it");
        drop(body);
        assert!(undone.load(Ordering::SeqCst), "the text was taken, but not written");
    }
}
