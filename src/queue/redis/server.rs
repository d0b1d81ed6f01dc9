//! Where a Redis is: always in one place, or where sentinels say.

use std::sync::Arc;

use redis::{ConnectionInfo, RedisError};

use super::{
    address::{Certificates, fixed},
    sentinel::{Sentinels, Wanted, error},
};

/// A Redis to connect to.
#[derive(Clone)]
pub struct Server(pub(super) Place);

#[derive(Clone)]
pub(super) enum Place {
    /// Always there.
    Fixed(Box<ConnectionInfo>),
    /// Where sentinels say.
    Moving(Arc<Sentinels>),
}

impl Server {
    /// `redis://…`, `rediss://…` or `unix://…`; the certificates are for `rediss://` alone.
    ///
    /// # Errors
    /// When the URL is not one, or a certificate is none.
    pub fn at(url: &str, certificates: Certificates) -> Result<Self, RedisError> {
        Ok(Self(Place::Fixed(Box::new(fixed(url, certificates)?))))
    }

    /// Whichever the sentinels name as primary.
    ///
    /// # Errors
    /// When what is wanted makes no URL, or a certificate is none.
    pub fn by_sentinels(wanted: Wanted) -> Result<Self, RedisError> {
        Ok(Self(Place::Moving(Arc::new(Sentinels::new(wanted)?))))
    }

    /// What it is called: never who asks, nor their password.
    pub(super) fn name(&self) -> String {
        match &self.0 {
            Place::Fixed(info) => info.addr().to_string(),
            Place::Moving(sentinels) => sentinels.name().to_owned(),
        }
    }

    /// Where it is now, and a number that is another when it has moved.
    pub(super) async fn now(&self) -> Result<(ConnectionInfo, u64), RedisError> {
        match &self.0 {
            Place::Fixed(info) => Ok(((**info).clone(), 0)),
            Place::Moving(sentinels) => sentinels.primary().await.map_err(error),
        }
    }

    /// Resolves when it has moved from where it was with that number, which most never do.
    pub(super) async fn moved_from(&self, number: u64) {
        match &self.0 {
            Place::Fixed(_) => std::future::pending().await,
            Place::Moving(sentinels) => sentinels.moved_from(number).await,
        }
    }

    pub(super) fn sentinels(&self) -> Option<&Sentinels> {
        match &self.0 {
            Place::Fixed(_) => None,
            Place::Moving(sentinels) => Some(sentinels),
        }
    }
}
