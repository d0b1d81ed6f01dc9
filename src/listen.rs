//! Connections: accepted up to a number, ended when they stall, let go of in order at the end.

mod files;
mod impatient;
mod places;
mod talk;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::Router;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::files::room_for;
use self::{
    impatient::Impatient,
    places::{Place, Places},
    talk::Talk,
};

/// Bytes of a request's head, and of what is read of a connection at a time: whoever says half a head costs no more.
const HEAD: usize = 64 << 10;
/// For requests in hand once the service is to stop.
const LAST_TIME: Duration = Duration::from_secs(6);
/// When the machine has no more files or memory for a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then lets the requests in hand finish.
pub async fn serve(listener: TcpListener, router: Router, max_connections: usize, stop: CancellationToken) {
    let places = Places::new(max_connections, stop.clone());
    let (open, cut) = (TaskTracker::new(), CancellationToken::new());
    let welcome = async {
        loop {
            // Above the cap one waits for a place, and the others in the backlog, which the system bounds.
            let ((stream, peer), place) = (accept(&listener).await, places.enter().await);
            open.spawn(converse(stream, peer, router.clone(), place, stop.clone(), cut.clone()));
        }
    };
    tokio::select! {
        () = welcome => {}
        () = places.mind() => {}
        () = stop.cancelled() => {}
    }
    drop(listener);
    open.close();
    if timeout(LAST_TIME, open.wait()).await.is_err() {
        tracing::warn!(connections = open.len(), "requests did not end in time");
        cut.cancel();
        open.wait().await;
    }
}

/// The next connection, whatever happens to others.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_the_peers(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
                sleep(PAUSE).await;
            }
        }
    }
}

fn is_the_peers(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// One connection from its first request to its last. `place` is free again at the end.
async fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    place: Place,
    stop: CancellationToken,
    cut: CancellationToken,
) {
    // An answer is one small write: it must not wait for more.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(Impatient::new(stream, stop.clone()));
    let shared = Arc::new(Talk { place, peer, router, rest: Mutex::default() });
    let talk = http1::Builder::new()
        .max_buf_size(HEAD)
        .serve_connection(stream, service_fn(|request| talk::answer(shared.clone(), request)));
    let mut talk = std::pin::pin!(talk);
    let ended = tokio::select! {
        ended = &mut talk => Some(ended),
        () = shared.place.is_cut() => {
            if stop.is_cancelled() {
                talk.as_mut().graceful_shutdown();
                cut.run_until_cancelled(talk).await
            } else {
                None
            }
        }
    };
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}
