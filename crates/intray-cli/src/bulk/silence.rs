//! Timeouts for a peer that falls silent without closing the connection.

use std::{
    convert::Infallible,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use anyhow::anyhow;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::timeout;

/// Timeout for an answer, for each of its lines, and for each piece of a body that is sent. The service sends at least a blank
/// line every 15 seconds.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout between two parts of a table, which cannot contain blank lines.
pub const TABLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Maximum bytes of a body that are sent at a time.
const PIECE: usize = 64 << 10;

/// # Errors
/// The future takes longer than `limit`.
pub async fn heard<T>(limit: Duration, saying: impl Future<Output = T>) -> anyhow::Result<T> {
    timeout(limit, saying).await.map_err(|_| silent(limit))
}

/// # Errors
/// The future takes longer than `limit` and no more of the body is taken in that time.
pub async fn answered<T>(limit: Duration, taken: &Taken, answering: impl Future<Output = T>) -> anyhow::Result<T> {
    let mut answering = pin!(answering);
    loop {
        let before = taken.count();
        match timeout(limit, &mut answering).await {
            Ok(answer) => return Ok(answer),
            Err(_) if taken.count() > before => {}
            Err(_) => return Err(silent(limit)),
        }
    }
}

fn silent(limit: Duration) -> anyhow::Error {
    anyhow!("nothing came for {} seconds", limit.as_secs())
}

/// Counts the pieces of a body that were taken.
#[derive(Default, Clone)]
pub struct Taken(Arc<AtomicU64>);

impl Taken {
    fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A body that is sent in pieces, so that its progress can be measured.
pub struct Pieces {
    rest: Bytes,
    taken: Taken,
}

impl Pieces {
    pub fn of(whole: Bytes) -> (Self, Taken) {
        let taken = Taken::default();
        (Self { rest: whole, taken: taken.clone() }, taken)
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            return Poll::Ready(None);
        }
        this.taken.0.fetch_add(1, Relaxed);
        let piece = this.rest.split_to(PIECE.min(this.rest.len()));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use http_body_util::BodyExt;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn silent_peer_is_given_up() {
        assert!(heard(SHORT, pending::<()>()).await.is_err());
        let (_body, taken) = Pieces::of(Bytes::from_static(b"1"));
        assert!(answered(SHORT, &taken, pending::<()>()).await.is_err(), "nothing is taken");
        assert_eq!(heard(ANSWER_TIMEOUT, async { 1 }).await.expect("heard"), 1);
        assert_eq!(answered(ANSWER_TIMEOUT, &taken, async { 1 }).await.expect("heard"), 1);
    }

    #[tokio::test]
    async fn slow_but_steady_body_does_not_time_out() {
        let (mut body, taken) = Pieces::of(vec![7; 5 * PIECE + 1].into());
        assert_eq!(body.size_hint().exact(), Some(5 * PIECE as u64 + 1));
        let mut bytes = 0;
        // The whole body takes longer than the timeout, but each timeout sees a piece taken.
        let slow = async {
            while let Some(frame) = body.frame().await {
                bytes += frame.expect("no error").into_data().expect("data").len();
                tokio::time::sleep(SHORT * 2).await;
            }
        };
        answered(SHORT * 4, &taken, slow).await.expect("an answer");
        assert_eq!((bytes, taken.count()), (5 * PIECE + 1, 6));
    }
}
