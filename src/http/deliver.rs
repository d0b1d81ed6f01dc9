//! A reserve is only good if its answer gets there. Its body holds the guard that takes the reservations back, and lets go
//! of it when the connection has taken the text: whoever is gone before that has taken no job.

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

use super::answer::JSON;
use crate::queue::Undo;

/// What is to be done if the answer is dropped before the connection took it.
pub trait Guard: Send + Unpin + 'static {
    fn disarm(self);
}

impl Guard for Undo {
    fn disarm(self) {
        Undo::disarm(self);
    }
}

/// JSON whose delivery matters.
pub struct Delivery<G> {
    text: Bytes,
    guard: Option<G>,
}

impl<G: Guard> Delivery<G> {
    pub fn new(text: Bytes, guard: G) -> Self {
        Self { text, guard: Some(guard) }
    }
}

impl<G: Guard> http_body::Body for Delivery<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.guard.take().map(|guard| {
            guard.disarm();
            Ok(Frame::data(std::mem::take(&mut self.text)))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.guard.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.text.len() as u64)
    }
}

impl<G: Guard> IntoResponse for Delivery<G> {
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
        (Delivery::new(Bytes::from_static(b"{}"), Witness(undone.clone(), true)).into_response(), undone)
    }

    #[tokio::test]
    async fn what_was_delivered_stays() {
        let (response, undone) = delivery();
        assert_eq!(response.into_body().collect().await.expect("a body").to_bytes(), "{}");
        assert!(!undone.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn what_nobody_took_is_taken_back() {
        let (response, undone) = delivery();
        drop(response);
        assert!(undone.load(Ordering::SeqCst));
    }
}
