//! The HTTP listener, in plain or by TLS: bounds the number of connections, ends those that stall, and shuts down in order.

mod connection_limit;
mod framing;
mod goaway;
mod http1;
mod http2;
mod open_files;
mod progress;
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
    connection_limit::{ConnectionLimit, Permit},
    http1::Http1Connection,
    http2::Http2Connection,
    progress::ObservedStream,
    timeout_stream::TimeoutStream,
};
pub use self::{open_files::fit_open_files, tls::Certificate};

/// Bytes of a request's head, and of one read: a caller that sends half a head costs no more.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// For open requests, once the service stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(6);
/// Connections that the system queues until they are accepted; it lowers this to its own limit. Beyond it a peer gets no answer
/// and tries again after a second, then two, then four, as when many pages reconnect at once.
const BACKLOG: u32 = 65_535;
/// Before the next accept, when the machine has no more files or memory for a connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// For an HTTP/2 peer to read GOAWAY before its connection is closed.
const GOAWAY_TIMEOUT: Duration = Duration::from_secs(1);

/// The two steps of a shutdown.
#[derive(Clone)]
pub struct Shutdown {
    /// Each answer closes its connection, so that no request is sent too late.
    pub draining: CancellationToken,
    /// No more requests are accepted.
    pub stop: CancellationToken,
}

/// Shared by all connections.
#[derive(Clone)]
struct HttpServer {
    router: Router,
    certificate: Option<Certificate>,
    end: Shutdown,
    /// Open requests are cut.
    cut: CancellationToken,
}

/// A listener on the first of a name's addresses that can be had.
///
/// # Errors
/// The system's error for the last of them.
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
    end: Shutdown,
) {
    let (stop, limit) = (end.stop.clone(), ConnectionLimit::new(max_connections, end.stop.clone()));
    let (open, cut) = (TaskTracker::new(), CancellationToken::new());
    let server = HttpServer { router, certificate, end, cut: cut.clone() };
    let accepting = async {
        loop {
            // Above the limit one connection waits for a permit, and the others in the backlog, which the system bounds.
            let ((stream, peer), permit) = (accept(&listener).await, limit.acquire().await);
            open.spawn(server.clone().handle_connection(stream, peer, permit));
        }
    };
    tokio::select! {
        () = accepting => {}
        () = limit.cut_idle() => {}
        () = stop.cancelled() => {}
    }
    drop(listener);
    open.close();
    if timeout(SHUTDOWN_TIMEOUT, open.wait()).await.is_err() {
        tracing::warn!(connections = open.len(), "requests did not end in time");
        cut.cancel();
        open.wait().await;
    }
}

/// The next connection. Errors are logged and do not end the listener.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_peer_error(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
                sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

fn is_peer_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

impl HttpServer {
    /// One connection from its first request to its last. The permit is returned at the end.
    async fn handle_connection(self, stream: TcpStream, peer: SocketAddr, permit: Permit) {
        // An answer is one small write: it must not wait for more.
        let _ = stream.set_nodelay(true);
        let stream = TimeoutStream::new(stream, self.end.stop.clone());
        let Some(certificate) = &self.certificate else { return self.by_http1(stream, peer, permit).await };
        let shaken = tokio::select! {
            shaken = certificate.accept(stream) => shaken,
            () = permit.is_cut() => return,
        };
        match shaken {
            // Boxed, to keep the future of each connection small.
            Ok(stream) if tls::is_http2(&stream) => Box::pin(self.by_http2(stream, peer, permit)).await,
            Ok(stream) => Box::pin(self.by_http1(stream, peer, permit)).await,
            Err(error) => tracing::debug!(%error, "no handshake"),
        }
    }

    async fn by_http1(&self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static, peer: SocketAddr, permit: Permit) {
        let shared = Arc::new(Http1Connection::new(permit, peer, self.router.clone(), self.end.draining.clone()));
        let stream = TokioIo::new(ObservedStream::new(stream, &shared));
        let talk = hyper::server::conn::http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            // An answer is short: one piece that is copied costs less than two that the kernel gathers.
            .writev(false)
            .serve_connection(stream, service_fn(|request| http1::answer(shared.clone(), request)));
        let mut talk = std::pin::pin!(talk);
        let ended = tokio::select! {
            ended = &mut talk => Some(ended),
            () = shared.permit.is_cut() => self.finish(talk.as_mut(), Duration::ZERO).await,
        };
        log_end(ended);
    }

    async fn by_http2(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        permit: Permit,
    ) {
        let shared = Arc::new(Http2Connection::new(permit, peer, self.router.clone()));
        let answer = |request| http2::answer(shared.clone(), request);
        let stream = TokioIo::new(ObservedStream::new(stream, &shared));
        let talk = http2::builder().serve_connection(stream, service_fn(answer));
        let mut talk = std::pin::pin!(talk);
        let ended = tokio::select! {
            ended = &mut talk => Some(ended),
            () = shared.permit.is_cut() => self.finish(talk.as_mut(), GOAWAY_TIMEOUT).await,
            () = shared.stalled() => None,
        };
        log_end(ended);
    }

    /// Ends a connection: on shutdown its open requests are answered first, else it gets GOAWAY where the protocol has it.
    async fn finish<C: GracefulConnection>(
        &self,
        mut talk: Pin<&mut C>,
        goodbye: Duration,
    ) -> Option<Result<(), C::Error>> {
        if self.end.stop.is_cancelled() {
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
