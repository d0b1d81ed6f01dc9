//! The Redis of a command: the operator's, or a private one; and the target of a move.

use std::future::Future;

use anyhow::{anyhow, bail};
use intray_embedded::{GaveUp, PrivateServer};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{self, RedisCertificates, RedisUrl, SentinelAccess, SentinelUrl, StoreOptions, WatchedRedisUrl},
    store::{Certificates, Durability, Login, Queues, SentinelSettings, Server, Servers, Timeouts},
};

/// The Redis of a command: the operator's, or a private one.
pub struct Backend {
    pub queues: Queues,
    private: Option<PrivateServer>,
    login: Login,
}

impl Backend {
    /// # Errors
    /// One line for the operator.
    pub async fn open(store: &StoreOptions) -> anyhow::Result<Self> {
        let sentinel = store.sentinel().map_err(|line| anyhow!(line))?;
        let timeouts = timeouts(store)?;
        match store.redis_url() {
            RedisUrl::Embedded => {
                if let config::DurabilityLevel::Replicated(_) = store.durability {
                    bail!(
                        "--durability {} needs a Redis of yours with replicas: the private server has none",
                        store.durability
                    );
                }
                let server = intray_embedded::start(&store.data_dir, store.max_memory.map(|memory| memory.0)).await?;
                Self::at(&server.url(), Some(server), store)
            }
            RedisUrl::Url(url) => Self::at(url.expose(), None, store),
            RedisUrl::Sentinels(url) => {
                let server = Server::behind_sentinels(sentinel_settings(url, sentinel, certificates(store)?, timeouts))
                    .map_err(|_| anyhow!("the Redis URL, or one of its files, cannot be used"))?;
                Ok(Self::on(Servers::One(Box::new(server)), timeouts, None, store))
            }
        }
    }

    /// The same, but connects to a private server that another intray process runs.
    ///
    /// # Errors
    /// One line for the operator.
    pub async fn look(store: &StoreOptions) -> anyhow::Result<Self> {
        if store.redis_url() == RedisUrl::Embedded
            && let Some(url) = intray_embedded::running_url(&store.data_dir).await
        {
            return Self::at(&url, None, store);
        }
        Self::open(store).await
    }

    /// The queues of the Redis that queues are moved to.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn elsewhere(url: &str, certificates: RedisCertificates, store: &StoreOptions) -> anyhow::Result<Queues> {
        let timeouts = timeouts(store)?;
        let RedisCertificates { authorities, own } = certificates;
        // The URL may hold a password, and its error might repeat it.
        let servers = Servers::at(url, Certificates { authorities, own })
            .map_err(|_| anyhow!("the URL where the queues go, or one of its files, cannot be used"))?;
        Ok(Queues::on(servers, timeouts, store.prefix.as_str(), None, Durability::Async))
    }

    fn at(url: &str, private: Option<PrivateServer>, store: &StoreOptions) -> anyhow::Result<Self> {
        // The URL may hold a password, and its error might repeat it.
        let servers = Servers::at(url, certificates(store)?)
            .map_err(|_| anyhow!("the Redis URL, or one of its files, cannot be used"))?;
        Ok(Self::on(servers, timeouts(store)?, private, store))
    }

    fn on(servers: Servers, timeouts: Timeouts, private: Option<PrivateServer>, store: &StoreOptions) -> Self {
        let shortage = private.as_ref().map(PrivateServer::room);
        let durability = match (store.durability, &private) {
            (config::DurabilityLevel::Async, _) => Durability::Async,
            (config::DurabilityLevel::Replicated(replicas), _) => Durability::Replicated(replicas),
            (config::DurabilityLevel::Synced, None) => Durability::Synced,
            (config::DurabilityLevel::Synced, Some(private)) => Durability::SyncedHere(private.disk()),
        };
        let login = Login::default();
        let servers = servers.with_login(&login);
        Self { queues: Queues::on(servers, timeouts, store.prefix.as_str(), shortage, durability), private, login }
    }

    /// Uses the user and password of the URL file, if there is one, whenever it changes.
    pub(super) fn follow(
        &self,
        url: Option<WatchedRedisUrl>,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + use<> {
        let login = self.login.clone();
        let changed = move |url: &RedisUrl| {
            let url = match url {
                RedisUrl::Embedded => return,
                RedisUrl::Url(url) => url.expose().to_owned(),
                RedisUrl::Sentinels(url) => format!("redis://{}localhost", url.credentials),
            };
            match Servers::at(&url, Certificates::default()) {
                Ok(servers) => servers.update_login(&login),
                // The error might repeat the URL.
                Err(_) => tracing::warn!("the Redis URL changed and cannot be used; the previous one stays in use"),
            }
        };
        async move {
            if let Some(url) = url {
                url.run(changed, stop).await;
            }
        }
    }

    pub async fn close(self) {
        self.queues.close().await;
        if let Some(private) = self.private {
            private.stop().await;
        }
    }

    /// Resolves when the private server can no longer be restarted; never for the operator's own Redis.
    pub(super) fn lost(&self) -> impl Future<Output = GaveUp> + Send + use<> {
        let failed = self.private.as_ref().map(PrivateServer::failed);
        async move {
            match failed {
                Some(failed) => failed.await,
                None => std::future::pending().await,
            }
        }
    }
}

fn timeouts(store: &StoreOptions) -> anyhow::Result<Timeouts> {
    Ok(Timeouts::of_response(store.redis_timeout_ms().map_err(|line| anyhow!(line))?))
}

fn certificates(store: &StoreOptions) -> anyhow::Result<Certificates> {
    let RedisCertificates { authorities, own } = store.redis_tls().map_err(|line| anyhow!(line))?;
    Ok(Certificates { authorities, own })
}

fn sentinel_settings(
    url: SentinelUrl,
    access: SentinelAccess,
    certificates: Certificates,
    timeouts: Timeouts,
) -> SentinelSettings {
    let SentinelUrl { is_tls, credentials, sentinels, name, db } = url;
    let SentinelAccess { user: sentinel_user, password: sentinel_password, map } = access;
    let address_map = map.into_iter().map(|entry| (entry.announced, entry.real)).collect();
    SentinelSettings {
        sentinels,
        name,
        credentials,
        db,
        is_tls,
        certificates,
        sentinel_user,
        sentinel_password,
        address_map,
        timeouts,
    }
}
