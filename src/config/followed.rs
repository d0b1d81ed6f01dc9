//! Watches the file of the Redis URL while the service runs, so that a rotated password is taken from it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{RedisUrl, StoreOptions};
use crate::files::{Describe, Watched, watch};

/// A URL that is reloaded when its file changes.
pub struct WatchedRedisUrl(Arc<Watched<RedisUrl>>);

impl StoreOptions {
    /// `None` when there is no such file, or `--redis-url` overrides it.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn followed_url(&self) -> Result<Option<WatchedRedisUrl>, String> {
        let file = self.redis_url_file.as_ref().filter(|_| self.redis_url.is_none());
        file.map(|file| Watched::open(vec![file.path.clone()], read).map(|url| WatchedRedisUrl(Arc::new(url))))
            .transpose()
    }
}

impl WatchedRedisUrl {
    /// Watches until `stop`, and calls `changed` with each new URL.
    pub async fn run(self, changed: impl Fn(&RedisUrl) + Send + Sync + 'static, stop: CancellationToken) {
        let last = Arc::new((Mutex::new(self.0.now()), changed));
        let look = move || {
            let wait = self.0.check();
            let (now, (last, changed)) = (self.0.now(), &*last);
            let mut last = last.lock();
            if **last != *now {
                warn_if_server_changed(&last, &now);
                changed(&now);
                *last = now;
            }
            wait
        };
        let look = Arc::new(look);
        watch("the Redis URL", move || look(), stop).await;
    }
}

fn warn_if_server_changed(before: &RedisUrl, now: &RedisUrl) {
    if before.to_string() != now.to_string() {
        tracing::warn!("the Redis URL now names {now}: only its user and password are used, restart to connect there");
    }
}

fn read(texts: &[String]) -> Result<RedisUrl, String> {
    RedisUrl::parse(&texts.concat()).map_err(|rule| rule.to_string())
}

impl Describe for RedisUrl {
    fn describe(&self) -> String {
        self.to_string()
    }
}
