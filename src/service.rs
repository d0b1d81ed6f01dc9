//! Starts the parts of the service, and stops them in order within a deadline.

mod backend;
mod check;
mod clock;
mod init;
mod signals;
mod store;

use std::{future::Future, sync::Arc, time::Duration};

use anyhow::{Context, anyhow};
use intray_listen::{Certificate, Shutdown};
use intray_webhook::Sender;
use tokio::time::{Instant, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::store::{LoggedChecks, try_store, wait_for_store, watch_store};
pub use self::{
    backend::Backend, check::check, init::reap_as_first_process, signals::shutdown_signal, store::check_store,
};
use crate::{
    access::{Access, CredentialSources},
    config::{LogFormat, Origin, Serve},
    http,
    job::QueueName,
    sheets::Sheets,
    store::{Fault, Owners, Queues},
    sweeper,
    waiting::Waiting,
    webhooks::{Dispatcher, WebhookFile},
};

/// Time between failing readiness and closing the listener, so that a load balancer notices, and requests sent before that arrive.
pub const DRAIN_NOTICE: Duration = Duration::from_millis(500);
/// A service ends at most ten seconds after its signal, even if parts hang. The last part of that time is for Redis.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(9);
const REDIS_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// What differs between the program and a service inside another program.
pub struct Host<A> {
    /// Gets the URL once the service listens.
    pub announce: A,
    /// How long the service fails readiness before it closes its listener.
    pub drain: Duration,
}

/// Serves until `stop` resolves or nothing more can be served.
///
/// # Errors
/// One line for the operator.
pub async fn serve<A: FnOnce(&str)>(
    options: Serve,
    host: Host<A>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    options.exposure().map_err(|line| anyhow!(line))?;
    let access = access(&options).map_err(|line| anyhow!(line))?;
    warn(&options, &access);
    let certificate = certificate(&options).map_err(|line| anyhow!(line))?;
    let webhooks = webhooks(&options).map_err(|line| anyhow!(line))?;
    let listener = intray_listen::bind(options.listen.address())
        .await
        .with_context(|| format!("cannot listen on {}", options.listen))?;
    let address = listener.local_addr().context("the listening address")?;
    let followed = options.store.followed_url().map_err(|line| anyhow!(line))?;
    let (backend, found) = open_backend(&options, &access).await?;

    let (leaving, closing) = (CancellationToken::new(), CancellationToken::new());
    let parts = TaskTracker::new();
    parts.spawn(backend.queues.clone().maintain_redis(closing.clone()));
    parts.spawn(backend.follow(followed, closing.clone()));
    let waiting = Waiting::new(backend.queues.clone(), leaving.clone());
    let webhooks = Dispatcher::new(backend.queues.clone(), waiting.clone(), webhooks);
    let period = Duration::from_millis(options.sweep_interval_ms.into());
    let work =
        StoreWork { queues: backend.queues.clone(), waiting: waiting.clone(), webhooks: webhooks.clone(), period };
    let away = work.begin_now(found, &parts, &closing).await;
    watch_files(&parts, access.clone(), certificate.clone(), &closing);
    let policy = policy(&options);
    let peers = http::Clients::new(options.trusted_proxy.iter().map(|range| range.0).collect());
    let router = http::router(backend.queues.clone(), (waiting, webhooks), access, policy, peers, leaving.clone());
    let connections = intray_listen::fit_open_files(options.max_connections);
    let url = format!("{}://{address}", if certificate.is_some() { "https" } else { "http" });
    let end = Shutdown { draining: leaving.clone(), stop: closing.clone() };
    parts.spawn(intray_listen::serve(listener, router, certificate, connections, end));
    let ready = async {
        if let Some(fault) = away {
            work.begin_later(&fault, &url, &parts, &closing).await?;
        }
        (host.announce)(&url);
        std::future::pending().await
    };
    let outcome = tokio::select! {
        () = stop => Ok(()),
        gave_up = backend.lost() => Err(gave_up.into()),
        unfit = ready => unfit,
    };
    leaving.cancel();
    shut_down(backend, parts, closing, host.drain).await;
    outcome
}

/// The backend, whose scripts are held, and what its checks logged, or why it is away.
///
/// # Errors
/// One line for the operator, if the store cannot be used.
async fn open_backend(options: &Serve, access: &Access) -> anyhow::Result<(Backend, Result<LoggedChecks, Fault>)> {
    let backend = Backend::open(&options.store).await?;
    backend.queues.bound(options.max_queues, Arc::new(QueueOwners(access.clone())));
    backend.queues.figures().label(options.metrics_queues);
    backend.queues.hold(true);
    match try_store(&backend.queues).await {
        Ok(found) => Ok((backend, found)),
        Err(unfit) => {
            backend.close().await;
            Err(unfit)
        }
    }
}

/// What begins when the store is known to be fit.
struct StoreWork {
    queues: Queues,
    waiting: Waiting,
    webhooks: Dispatcher,
    period: Duration,
}

impl StoreWork {
    /// Begins, unless the store is away; why it is.
    async fn begin_now(
        &self,
        found: Result<LoggedChecks, Fault>,
        parts: &TaskTracker,
        stop: &CancellationToken,
    ) -> Option<Fault> {
        match found {
            Ok(logged) => self.begin(logged, parts, stop).await,
            Err(fault) => return Some(fault),
        }
        None
    }

    /// Begins when the store has come.
    async fn begin_later(
        &self,
        fault: &Fault,
        url: &str,
        parts: &TaskTracker,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        tracing::warn!(%fault, url, "Redis is away: this instance serves unready until it comes");
        let logged = wait_for_store(&self.queues).await?;
        self.begin(logged, parts, stop).await;
        Ok(())
    }

    async fn begin(&self, logged: LoggedChecks, parts: &TaskTracker, stop: &CancellationToken) {
        let sheets = Sheets::new(self.queues.clone());
        // Events from readiness on are for them.
        self.webhooks.begin().await;
        self.queues.hold(false);
        parts.spawn(sweeper::run(sheets.clone(), self.period, stop.clone()));
        parts.spawn(self.waiting.clone().run());
        parts.spawn(watch_store(self.queues.clone(), logged, stop.clone()));
        parts.spawn(self.webhooks.clone().run(stop.clone()));
        parts.spawn(sheets.run(stop.clone()));
    }
}

/// Reads the operator's files again when they change.
fn watch_files(parts: &TaskTracker, access: Access, certificate: Option<Certificate>, stop: &CancellationToken) {
    parts.spawn(access.run(stop.clone()));
    if let Some(certificate) = certificate {
        parts.spawn(certificate.run(stop.clone()));
    }
}

/// Ends what has begun, in time: first the calls that wait are answered, then the rest.
async fn shut_down(backend: Backend, parts: TaskTracker, closing: CancellationToken, drain: Duration) {
    let end = Instant::now() + SHUTDOWN_TIMEOUT;
    tracing::info!("leaving");
    tokio::time::sleep(drain).await;
    closing.cancel();
    parts.close();
    if timeout_at(end - REDIS_CLOSE_TIMEOUT, parts.wait()).await.is_err() {
        tracing::warn!(parts = parts.len(), "some tasks did not end in time and are abandoned");
    }
    if timeout_at(end, backend.close()).await.is_err() {
        tracing::warn!("Redis did not answer in time; its connections are dropped");
    }
}

/// Prints the line that scripts wait for, at any log level; as JSON where logs are JSON.
pub fn announce(url: &str, format: LogFormat) {
    let message = format!("intray is ready on {url}");
    match format {
        LogFormat::Text => println!("{message}"),
        LogFormat::Json => {
            let timestamp = jiff::Timestamp::now().to_string();
            println!("{}", serde_json::json!({ "timestamp": timestamp, "level": "INFO", "message": message }));
        }
    }
}

/// Logs what an operator should know about the settings.
fn warn(options: &Serve, access: &Access) {
    let warnings = options.exposure_warning().into_iter().chain(options.world_readable_secrets());
    warnings.chain(access.warnings()).for_each(|line| tracing::warn!("{line}"));
}

/// Maps queues to the patterns of the keys.
struct QueueOwners(Access);

impl Owners for QueueOwners {
    fn owner(&self, queue: &QueueName) -> Option<usize> {
        self.0.partition(queue)
    }
}

/// Access control as the operator has set it.
///
/// # Errors
/// One line for the operator.
pub fn access(options: &Serve) -> Result<Access, String> {
    Access::open(CredentialSources {
        keys_file: options.keys_file.clone(),
        jwks_file: options.jwks_file.clone(),
        secrets: options.signing.secrets().map(|secret| secret.expose().to_vec()).collect(),
        issuer: options.signing.jwt_issuer.clone(),
        max_lifetime: Duration::from_millis(options.jwt_max_age),
        rate: options.rate_limit,
    })
}

/// The certificate of a service that serves HTTPS.
///
/// # Errors
/// One line for the operator.
pub fn certificate(options: &Serve) -> Result<Option<Certificate>, String> {
    options.tls.files().map(Certificate::open).transpose()
}

/// What sends webhooks, of a service that sends some.
///
/// # Errors
/// One line for the operator.
pub fn webhooks(options: &Serve) -> Result<Option<(WebhookFile, Sender)>, String> {
    let file = options.webhooks_file.clone().map(WebhookFile::open).transpose()?;
    file.map(|file| Ok((file, Sender::new()?))).transpose()
}

/// The operator's settings of requests, in HTTP's types.
fn policy(options: &Serve) -> http::Policy {
    let exact = |origin: &Origin| match origin {
        Origin::Any => None,
        Origin::Exact(origin) => Some(origin.clone()),
    };
    // `None` as soon as one of them is `*`.
    let listed: Option<Vec<_>> = options.cors_origin.iter().map(exact).collect();
    http::Policy {
        allowed_hosts: options.allowed_host.iter().map(|host| host.as_str().to_owned()).collect(),
        cors_headers: options.cors_header.iter().map(|header| header.as_str().to_owned()).collect(),
        cors: listed.map_or(http::Origins::Any, http::Origins::Listed),
        max_payload: options.max_payload_bytes,
        demo: options.demo,
        desk: http::DeskSources {
            images: options.desk.desk_image_origin.iter().map(ToString::to_string).collect(),
            token: options.desk.desk_token_url.as_ref().map(ToString::to_string),
        },
    }
}
