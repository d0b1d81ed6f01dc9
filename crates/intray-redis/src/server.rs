//! The address of a Redis: fixed, or the one that sentinels name.

use std::sync::Arc;

use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, RedisError};

use super::{
    login::Login,
    sentinel::{SentinelSettings, Sentinels},
    tls::{Certificates, connection_info},
};

/// A Redis to connect to.
#[derive(Clone)]
pub struct Server(Location, Login);

#[derive(Clone)]
enum Location {
    Fixed(Box<ConnectionInfo>),
    /// The primary that sentinels name.
    Sentinels(Arc<Sentinels>),
}

/// The version of an address is the number of moves of the primary plus this for each change of the user.
const LOGIN_VERSION: u64 = 1 << 32;

/// The servers of one URL.
#[derive(Clone)]
pub enum Servers {
    One(Box<Server>),
    /// Some nodes of a cluster, which name the others.
    Cluster(Vec<Server>),
}

impl Servers {
    /// `redis://…`, `rediss://…`, `unix://…`, or nodes of a cluster: `redis+cluster://[user:password@]host:port,host:port`.
    ///
    /// # Errors
    /// If the URL or a certificate is invalid.
    pub fn at(url: &str, certificates: Certificates) -> Result<Self, RedisError> {
        let Some((scheme, rest)) = url.split_once("+cluster://") else {
            return Server::at(url, certificates).map(|server| Self::One(Box::new(server)));
        };
        let (user, addresses) = rest.trim_end_matches('/').rsplit_once('@').unwrap_or(("", rest));
        let user = if user.is_empty() { String::new() } else { format!("{user}@") };
        let addresses = addresses.trim_end_matches('/').split(',').map(str::trim).filter(|address| !address.is_empty());
        let seeds = addresses.map(|address| Server::at(&format!("{scheme}://{user}{address}"), certificates.clone()));
        let seeds = seeds.collect::<Result<Vec<_>, _>>()?;
        if seeds.is_empty() {
            return Err((ErrorKind::InvalidClientConfig, "a cluster needs a node").into());
        }
        Ok(Self::Cluster(seeds))
    }

    /// The same servers with the user of `login`, also when that changes.
    #[must_use]
    pub fn with_login(self, login: &Login) -> Self {
        let with_login = |server: Server| Server(server.0, login.clone());
        match self {
            Self::One(server) => Self::One(Box::new(with_login(*server))),
            Self::Cluster(seeds) => Self::Cluster(seeds.into_iter().map(with_login).collect()),
        }
    }

    /// Sets the user of `login` to the one in the URL of these servers.
    pub fn update_login(&self, login: &Login) {
        let first = match self {
            Self::One(server) => Some(&**server),
            Self::Cluster(seeds) => seeds.first(),
        };
        if let Some(Server(Location::Fixed(info), _)) = first {
            login.set(info.redis_settings());
        }
    }
}

impl Server {
    /// `redis://…`, `rediss://…` or `unix://…`; only `rediss://` uses the certificates.
    ///
    /// # Errors
    /// If the URL or a certificate is invalid.
    pub fn at(url: &str, certificates: Certificates) -> Result<Self, RedisError> {
        Ok(Self(Location::Fixed(Box::new(connection_info(url, certificates)?)), Login::default()))
    }

    /// The primary that the sentinels name.
    ///
    /// # Errors
    /// If the settings make no valid URL, or a certificate is invalid.
    pub fn behind_sentinels(settings: SentinelSettings) -> Result<Self, RedisError> {
        Ok(Self(Location::Sentinels(Arc::new(Sentinels::new(settings)?)), Login::default()))
    }

    /// For logs: host and port, the socket, or the primary's name at the sentinels; never the user or password.
    pub fn name(&self) -> String {
        match &self.0 {
            Location::Fixed(info) => info.addr().to_string(),
            Location::Sentinels(sentinels) => sentinels.name().to_owned(),
        }
    }

    /// The current address and its version, which changes when the primary has moved or the user has changed.
    ///
    /// # Errors
    /// If no sentinel names a primary.
    pub async fn address(&self) -> Result<(ConnectionInfo, u64), RedisError> {
        let (info, moves) = match &self.0 {
            Location::Fixed(info) => ((**info).clone(), 0),
            Location::Sentinels(sentinels) => sentinels.primary().await?,
        };
        let (info, logins) = self.1.apply(info);
        Ok((info, moves + logins * LOGIN_VERSION))
    }

    /// Resolves when the primary has moved since that version of the address; never for a fixed address.
    pub async fn moved_since(&self, version: u64) {
        match &self.0 {
            Location::Fixed(_) => std::future::pending().await,
            Location::Sentinels(sentinels) => sentinels.moved_since(version % LOGIN_VERSION).await,
        }
    }

    pub(crate) fn sentinels(&self) -> Option<&Sentinels> {
        match &self.0 {
            Location::Fixed(_) => None,
            Location::Sentinels(sentinels) => Some(sentinels),
        }
    }

    /// The host, or nothing for a socket and behind sentinels.
    pub(crate) fn host(&self) -> &str {
        match &self.0 {
            Location::Fixed(info) => match info.addr() {
                ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
                _ => "",
            },
            Location::Sentinels(_) => "",
        }
    }

    /// Another node of the same cluster, with the same user and TLS settings.
    pub(crate) fn with_address(&self, host: &str, port: u16) -> Self {
        let Location::Fixed(info) = &self.0 else { return self.clone() };
        let addr = match info.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host: host.to_owned(),
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host.to_owned(), port),
        };
        Self(Location::Fixed(Box::new((**info).clone().set_addr(addr))), self.1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(url: &str) -> Vec<String> {
        match Servers::at(url, Certificates::default()).expect("a URL") {
            Servers::One(server) => vec![server.name()],
            Servers::Cluster(seeds) => seeds.iter().map(Server::name).collect(),
        }
    }

    #[test]
    fn cluster_url_lists_nodes_with_default_port() {
        assert_eq!(names("redis://h:1/3"), ["h:1"]);
        assert_eq!(names("redis+cluster://h:1,[::1]:2,i"), ["h:1", "::1:2", "i:6379"]);
        assert_eq!(names("rediss+cluster://ann:p%40ss@h:1,i:2/"), ["h:1", "i:2"]);
        assert!(Servers::at("redis+cluster://", Certificates::default()).is_err());
    }

    #[test]
    fn other_cluster_node_keeps_user_and_tls() {
        let Ok(Servers::Cluster(seeds)) = Servers::at("rediss+cluster://ann:pw@h:1", Certificates::default()) else {
            panic!("a cluster")
        };
        let other = seeds[0].with_address("10.0.0.2", 7);
        assert_eq!((other.host(), other.name().as_str()), ("10.0.0.2", "10.0.0.2:7"));
        let Location::Fixed(info) = other.0 else { panic!("a fixed address") };
        assert!(matches!(info.addr(), ConnectionAddr::TcpTls { .. }));
        let settings = info.redis_settings();
        assert_eq!((settings.username(), settings.password()), (Some("ann"), Some("pw")));
    }
}
