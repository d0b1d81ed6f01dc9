//! One attempt to deliver a webhook.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue, USER_AGENT},
};
use hyper_util::{
    client::legacy::{Client, connect::capture_connection},
    rt::{TokioExecutor, TokioTimer},
};
use parking_lot::Mutex;
use rustls::RootCertStore;
use tokio::time::{Instant, timeout_at};

use crate::{
    connector::{Connector, connector, native_authorities},
    failure::AttemptError,
    retry_after,
    secret::{WebhookSecret, sign},
    target::Target,
};

/// For everything from the name to the headers of the answer.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// An answer's body is read up to here, so that its connection can be used again; a longer one closes it.
const READ_BODY_BYTES: u64 = 65_536;
/// How long that may take.
const READ_BODY_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_HEADER_BYTES: usize = 65_536;
/// Connections are not used again after this time, because the name of a receiver may have moved to another address.
const POOL_LIFETIME: Duration = Duration::from_secs(60);
const IDLE_CONNECTIONS_PER_HOST: usize = 8;
const AGENT: &str = concat!("intray/", env!("CARGO_PKG_VERSION"));

/// Sends webhooks. One serves a whole process, so that connections are used again; clones share them.
#[derive(Clone)]
pub struct Sender {
    connector: Connector,
    pool: Arc<Mutex<Pool>>,
    pub(crate) pool_lifetime: Duration,
    timeout: Duration,
    has_authorities: bool,
}

/// Connections that are used again.
struct Pool {
    client: Client<Connector, Full<Bytes>>,
    since: Instant,
}

/// What came of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// `None`: there was no answer in time.
    pub status: Option<u16>,
    /// When the receiver wants the next attempt: a day at most.
    pub retry_after: Option<Duration>,
    /// Why there is no status.
    pub error: Option<AttemptError>,
    /// Until the headers of the answer, or the error.
    pub took: Duration,
}

impl Attempt {
    /// Whether the receiver has taken the webhook: 2xx.
    pub fn is_taken(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

impl Sender {
    /// Trusts the authorities of this machine, which are read once.
    ///
    /// # Errors
    /// One line for the operator, when TLS cannot be set up.
    pub fn new() -> Result<Self, String> {
        Self::trusting(native_authorities(), ATTEMPT_TIMEOUT)
    }

    pub(crate) fn trusting(authorities: RootCertStore, timeout: Duration) -> Result<Self, String> {
        let has_authorities = !authorities.is_empty();
        let connector = connector(authorities, timeout)?;
        let pool = Arc::new(Mutex::new(Pool::new(&connector)));
        Ok(Self { connector, pool, pool_lifetime: POOL_LIFETIME, timeout, has_authorities })
    }

    /// The next attempts, of clones too, are made on new connections.
    pub fn reconnect(&self) {
        *self.pool.lock() = Pool::new(&self.connector);
    }

    fn client(&self) -> Client<Connector, Full<Bytes>> {
        let mut pool = self.pool.lock();
        if pool.since.elapsed() >= self.pool_lifetime {
            *pool = Pool::new(&self.connector);
        }
        pool.client.clone()
    }

    /// Signs the body with the time of now, and posts it once. Redirects are not followed. Returns after 15 s at the latest.
    ///
    /// # Panics
    /// When the id is not visible ASCII.
    pub async fn send(&self, target: &Target, secrets: &[WebhookSecret], id: &str, body: Bytes) -> Attempt {
        let mut request = request(target, secrets, id, body);
        let connection = capture_connection(&mut request);
        let begin = Instant::now();
        let end = begin + self.timeout;
        let answered = timeout_at(end, self.client().request(request)).await;
        let took = begin.elapsed();
        let failed = |error| Attempt { status: None, retry_after: None, error: Some(error), took };
        match answered {
            Err(_) => failed(AttemptError::Timeout),
            Ok(Err(error)) => failed(self.explain(AttemptError::of(&error))),
            Ok(Ok(answer)) => {
                let status = Some(answer.status().as_u16());
                let retry_after = retry_after::read(answer.headers(), SystemTime::now());
                if !answer.status().is_success() {
                    // The name may lead to another receiver by the next attempt.
                    connection.connection_metadata().iter().for_each(|connection| connection.poison());
                }
                // If this is cut short, the connection is closed.
                let _ = timeout_at(end.min(Instant::now() + READ_BODY_TIMEOUT), read_body(answer)).await;
                Attempt { status, retry_after, error: None, took }
            }
        }
    }

    fn explain(&self, error: AttemptError) -> AttemptError {
        if error == AttemptError::UnknownAuthority && !self.has_authorities {
            return AttemptError::NoAuthorities;
        }
        error
    }
}

impl Pool {
    fn new(connector: &Connector) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_LIFETIME)
            .pool_max_idle_per_host(IDLE_CONNECTIONS_PER_HOST)
            .http1_max_buf_size(MAX_HEADER_BYTES)
            .build(connector.clone());
        Self { client, since: Instant::now() }
    }
}

fn request(target: &Target, secrets: &[WebhookSecret], id: &str, body: Bytes) -> Request<Full<Bytes>> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let signature = sign(secrets, id, now, &body);
    Request::post(target.uri())
        .header("webhook-id", id)
        .header("webhook-timestamp", now)
        .header("webhook-signature", signature)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .header(USER_AGENT, HeaderValue::from_static(AGENT))
        .body(Full::new(body))
        .expect("the target is a URI, and the id is visible ASCII")
}

/// Reads a body to its end, unless it is too long.
async fn read_body(answer: Response<Incoming>) {
    let mut body = answer.into_body();
    let mut left = READ_BODY_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
        let Some(rest) = left.checked_sub(bytes) else { return };
        left = rest;
    }
}
