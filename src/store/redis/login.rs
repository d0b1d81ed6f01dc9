//! Whom Redis sees, which may become another while the service runs.

use std::sync::{Arc, PoisonError, RwLock};

use redis::{ConnectionInfo, RedisConnectionInfo};

/// A cheap handle. Without anything set, it is who the address names.
#[derive(Clone, Default)]
pub struct Login(Arc<RwLock<(u64, Option<RedisConnectionInfo>)>>);

impl Login {
    /// From now on new connections are made as this user, to the same database as before.
    pub(super) fn set(&self, who: &RedisConnectionInfo) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *kept = (kept.0 + 1, Some(who.clone()));
    }

    /// The address with whom to be seen as there, and how often that has changed.
    pub(super) fn apply(&self, info: ConnectionInfo) -> (ConnectionInfo, u64) {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(who) = &kept.1 else { return (info, kept.0) };
        let who = who.clone().set_db(info.redis_settings().db());
        (info.set_redis_settings(who), kept.0)
    }
}
