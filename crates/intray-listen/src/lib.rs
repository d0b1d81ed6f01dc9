//! Connections: accepted up to a number, ended when they stall, let go of in order at the end; in plain, or by TLS.

mod connection_limit;
mod delivery;
mod goaway;
mod http1;
mod http2;
mod open_files;
mod request_body;
#[cfg(test)]
mod tests;
mod timeout_stream;
mod tls;

use std::{io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::service::service_fn;
use hyper_util::{rt::TokioIo, server::graceful::GracefulConnection};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpSocket, TcpStream, lookup_host},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    connection_limit::{Place, Places},
    delivery::Outlet,
    http1::Talk,
    http2::Streams,
    timeout_stream::Impatient,
};
pub use self::{open_files::room_for, tls::Certificate};

/// Bytes of a request's head, and of what is read of a connection at a time: whoever says half a head costs no more.
const HEAD: usize = 64 << 10;
/// For requests in hand once the service is to stop.
const LAST_TIME: Duration = Duration::from_secs(6);
/// Connections that the system keeps until they are accepted; it lowers that to what it allows. Who comes to more of them is not
/// answered, and tries again after a second, then two, then four: a crowd of pages that comes back at once.
const BACKLOG: u32 = 65_535;
/// When the machine has no more files or memory for a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// For a peer to hear that its connection is at its end, where its protocol has words for that.
const GOODBYE: Duration = Duration::from_secs(1);

/// How a service ends.
#[derive(Clone)]
pub struct End {
    /// Each answer is the last of its connection: nobody shall send the next one when it is too late.
    pub near: CancellationToken,
    /// No more requests.
    pub here: CancellationToken,
}

/// What the connections have in common.
#[derive(Clone)]
struct House {
    router: Router,
    certificate: Option<Certificate>,
    end: End,
    /// No more time for those in hand.
    cut: CancellationToken,
}

/// A listener on the first of a name's addresses that can be had.
///
/// # Errors
/// What the system says of the last of them.
pub async fn bind((host, port): (&str, u16)) -> io::Result<TcpListener> {
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in lookup_host((host, port)).await? {
        match bind_to(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn bind_to(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // The port of a service that has just ended can be had again.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until the end, then lets the requests in hand finish. With a certificate, nothing is served in plain.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    certificate: Option<Certificate>,
    max_connections: usize,
    end: End,
) {
    let (stop, places) = (end.here.clone(), Places::new(max_connections, end.here.clone()));
    let (open, cut) = (TaskTracker::new(), CancellationToken::new());
    let house = House { router, certificate, end, cut: cut.clone() };
    let welcome = async {
        loop {
            // Above the cap one waits for a place, and the others in the backlog, which the system bounds.
            let ((stream, peer), place) = (accept(&listener).await, places.enter().await);
            open.spawn(house.clone().converse(stream, peer, place));
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

impl House {
    /// One connection from its first request to its last. `place` is free again at the end.
    async fn converse(self, stream: TcpStream, peer: SocketAddr, place: Place) {
        // An answer is one small write: it must not wait for more.
        let _ = stream.set_nodelay(true);
        let stream = Impatient::new(stream, self.end.here.clone());
        let Some(certificate) = &self.certificate else { return self.by_http1(stream, peer, place).await };
        let shaken = tokio::select! {
            shaken = certificate.accept(stream) => shaken,
            () = place.is_cut() => return,
        };
        match shaken {
            // In boxes: what is rare shall not make each connection as large.
            Ok(stream) if tls::is_http2(&stream) => Box::pin(self.by_http2(stream, peer, place)).await,
            Ok(stream) => Box::pin(self.by_http1(stream, peer, place)).await,
            Err(error) => tracing::debug!(%error, "no handshake"),
        }
    }

    async fn by_http1(&self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static, peer: SocketAddr, place: Place) {
        let shared = Arc::new(Talk::new(place, peer, self.router.clone(), self.end.near.clone()));
        let stream = TokioIo::new(Outlet::new(stream, &shared));
        let talk = hyper::server::conn::http1::Builder::new()
            .max_buf_size(HEAD)
            // An answer is short: one piece that is copied costs less than two that the kernel gathers.
            .writev(false)
            .serve_connection(stream, service_fn(|request| http1::answer(shared.clone(), request)));
        let mut talk = std::pin::pin!(talk);
        let ended = tokio::select! {
            ended = &mut talk => Some(ended),
            () = shared.place.is_cut() => self.last_of(talk.as_mut(), Duration::ZERO).await,
        };
        log_end(ended);
    }

    async fn by_http2(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        place: Place,
    ) {
        let shared = Arc::new(Streams::new(place, peer, self.router.clone()));
        let answer = |request| http2::answer(shared.clone(), request);
        let stream = TokioIo::new(Outlet::new(stream, &shared));
        let talk = http2::builder().serve_connection(stream, service_fn(answer));
        let mut talk = std::pin::pin!(talk);
        let ended = tokio::select! {
            ended = &mut talk => Some(ended),
            () = shared.place.is_cut() => self.last_of(talk.as_mut(), GOODBYE).await,
            () = shared.stalled() => None,
        };
        log_end(ended);
    }

    /// What a connection still says that is to end: when everybody is to go the answers in hand, else a word of goodbye.
    async fn last_of<C: GracefulConnection>(
        &self,
        mut talk: Pin<&mut C>,
        goodbye: Duration,
    ) -> Option<Result<(), C::Error>> {
        if self.end.here.is_cancelled() {
            talk.as_mut().graceful_shutdown();
            return self.cut.run_until_cancelled(talk).await;
        }
        if goodbye.is_zero() {
            return None;
        }
        talk.as_mut().graceful_shutdown();
        timeout(goodbye, talk).await.ok()
    }
}

fn log_end(ended: Option<Result<(), hyper::Error>>) {
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}
