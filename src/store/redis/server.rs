//! Where a Redis is: always in one place, or where sentinels say.

use std::sync::Arc;

use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, RedisError};

use super::{
    address::{Certificates, fixed},
    login::Login,
    sentinel::{Sentinels, Wanted, error},
};

/// A Redis to connect to.
#[derive(Clone)]
pub struct Server(pub(super) Place, Login);

#[derive(Clone)]
pub(super) enum Place {
    /// Always there.
    Fixed(Box<ConnectionInfo>),
    /// Where sentinels say.
    Moving(Arc<Sentinels>),
}

/// Where it is moves less often.
const OF_A_LOGIN: u64 = 1 << 32;

/// What a URL leads to.
#[derive(Clone)]
pub enum Servers {
    One(Box<Server>),
    /// A cluster, by some of its nodes: one of them says where the others are.
    Cluster(Vec<Server>),
}

impl Servers {
    /// `redis://…`, `rediss://…`, `unix://…`, or nodes of a cluster: `redis+cluster://[user:password@]host:port,host:port`.
    ///
    /// # Errors
    /// When the URL is not one, or a certificate is none.
    pub fn at(url: &str, certificates: Certificates) -> Result<Self, RedisError> {
        let Some((scheme, rest)) = url.split_once("+cluster://") else {
            return Server::at(url, certificates).map(|server| Self::One(Box::new(server)));
        };
        let (who, places) = rest.trim_end_matches('/').rsplit_once('@').unwrap_or(("", rest));
        let who = if who.is_empty() { String::new() } else { format!("{who}@") };
        let places = places.trim_end_matches('/').split(',').map(str::trim).filter(|place| !place.is_empty());
        let seeds = places.map(|place| Server::at(&format!("{scheme}://{who}{place}"), certificates.clone()));
        let seeds = seeds.collect::<Result<Vec<_>, _>>()?;
        if seeds.is_empty() {
            return Err((ErrorKind::InvalidClientConfig, "a cluster needs a node").into());
        }
        Ok(Self::Cluster(seeds))
    }

    /// The same, asked by whom `login` says.
    #[must_use]
    pub fn asked_by(self, login: &Login) -> Self {
        let ask = |server: Server| Server(server.0, login.clone());
        match self {
            Self::One(server) => Self::One(Box::new(ask(*server))),
            Self::Cluster(seeds) => Self::Cluster(seeds.into_iter().map(ask).collect()),
        }
    }

    /// Has `login` name the user of these from now on.
    pub fn lend(&self, login: &Login) {
        let first = match self {
            Self::One(server) => Some(&**server),
            Self::Cluster(seeds) => seeds.first(),
        };
        if let Some(Server(Place::Fixed(info), _)) = first {
            login.set(info.redis_settings());
        }
    }
}

impl Server {
    /// `redis://…`, `rediss://…` or `unix://…`; the certificates are for `rediss://` alone.
    ///
    /// # Errors
    /// When the URL is not one, or a certificate is none.
    pub fn at(url: &str, certificates: Certificates) -> Result<Self, RedisError> {
        Ok(Self(Place::Fixed(Box::new(fixed(url, certificates)?)), Login::default()))
    }

    /// Whichever the sentinels name as primary.
    ///
    /// # Errors
    /// When what is wanted makes no URL, or a certificate is none.
    pub fn by_sentinels(wanted: Wanted) -> Result<Self, RedisError> {
        Ok(Self(Place::Moving(Arc::new(Sentinels::new(wanted)?)), Login::default()))
    }

    /// Host and port, the socket, or what the sentinels call it: never who asks, nor their password.
    pub(crate) fn place(&self) -> String {
        match &self.0 {
            Place::Fixed(info) => info.addr().to_string(),
            Place::Moving(sentinels) => sentinels.name().to_owned(),
        }
    }

    /// Where it is now, and a number that is another when it has moved or is asked by another user.
    pub(super) async fn now(&self) -> Result<(ConnectionInfo, u64), RedisError> {
        let (info, number) = match &self.0 {
            Place::Fixed(info) => ((**info).clone(), 0),
            Place::Moving(sentinels) => sentinels.primary().await.map_err(error)?,
        };
        let (info, changes) = self.1.apply(info);
        Ok((info, number + changes * OF_A_LOGIN))
    }

    /// Resolves when it has moved from where it was with that number, which most never do.
    pub(super) async fn moved_from(&self, number: u64) {
        match &self.0 {
            Place::Fixed(_) => std::future::pending().await,
            Place::Moving(sentinels) => sentinels.moved_from(number % OF_A_LOGIN).await,
        }
    }

    pub(super) fn sentinels(&self) -> Option<&Sentinels> {
        match &self.0 {
            Place::Fixed(_) => None,
            Place::Moving(sentinels) => Some(sentinels),
        }
    }

    /// Its host, which other nodes of a cluster may share.
    pub(crate) fn host(&self) -> &str {
        match &self.0 {
            Place::Fixed(info) => match info.addr() {
                ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
                _ => "",
            },
            Place::Moving(_) => "",
        }
    }

    /// Another node of the same cluster: it is asked by the same user, and over TLS if this one is.
    pub(crate) fn at_place(&self, host: &str, port: u16) -> Self {
        let Place::Fixed(info) = &self.0 else { return self.clone() };
        let addr = match info.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host: host.to_owned(),
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host.to_owned(), port),
        };
        Self(Place::Fixed(Box::new((**info).clone().set_addr(addr))), self.1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(url: &str) -> Vec<String> {
        match Servers::at(url, Certificates::default()).expect("a URL") {
            Servers::One(server) => vec![server.place()],
            Servers::Cluster(seeds) => seeds.iter().map(Server::place).collect(),
        }
    }

    #[test]
    fn a_cluster_is_known_by_some_of_its_nodes() {
        assert_eq!(places("redis://h:1/3"), ["h:1"]);
        assert_eq!(places("redis+cluster://h:1,[::1]:2,i"), ["h:1", "::1:2", "i:6379"]);
        assert_eq!(places("rediss+cluster://ann:p%40ss@h:1,i:2/"), ["h:1", "i:2"]);
        assert!(Servers::at("redis+cluster://", Certificates::default()).is_err());
    }

    #[test]
    fn another_node_is_met_as_the_same_user_and_in_the_same_way() {
        let Ok(Servers::Cluster(seeds)) = Servers::at("rediss+cluster://ann:pw@h:1", Certificates::default()) else {
            panic!("a cluster")
        };
        let other = seeds[0].at_place("10.0.0.2", 7);
        assert_eq!((other.host(), other.place().as_str()), ("10.0.0.2", "10.0.0.2:7"));
        let Place::Fixed(info) = other.0 else { panic!("a place") };
        assert!(matches!(info.addr(), ConnectionAddr::TcpTls { .. }));
        let settings = info.redis_settings();
        assert_eq!((settings.username(), settings.password()), (Some("ann"), Some("pw")));
    }
}
