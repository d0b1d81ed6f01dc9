//! The Redis user, which may change while the service runs.

use std::sync::Arc;

use parking_lot::RwLock;
use redis::{ConnectionInfo, RedisConnectionInfo};

/// A cheap handle. Until a user is set, connections use the one in the URL.
#[derive(Clone, Default)]
pub struct Login(Arc<RwLock<(u64, Option<RedisConnectionInfo>)>>);

impl Login {
    /// New connections authenticate as this user; their database stays the same.
    pub(crate) fn set(&self, user: &RedisConnectionInfo) {
        let mut login = self.0.write();
        *login = (login.0 + 1, Some(user.clone()));
    }

    /// The address with the current user, and how often the user has changed.
    pub(crate) fn apply(&self, info: ConnectionInfo) -> (ConnectionInfo, u64) {
        let login = self.0.read();
        let Some(user) = &login.1 else { return (info, login.0) };
        let user = user.clone().set_db(info.redis_settings().db());
        (info.set_redis_settings(user), login.0)
    }
}
