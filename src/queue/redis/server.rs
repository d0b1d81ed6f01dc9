//! Where a Redis is, and how its connections are kept from others' eyes.

use redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisError, TlsCertificates,
};

/// What TLS goes by, in PEM. Without anything: whom this machine trusts, and nothing to show.
#[derive(Clone, Default)]
pub struct Certificates {
    /// Who may have signed the server's certificate.
    pub authorities: Option<Vec<u8>>,
    /// Ours, and its key.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

/// A Redis to connect to.
#[derive(Clone)]
pub struct Server(pub(super) ConnectionInfo);

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
}

impl Server {
    /// `redis://…`, `rediss://…` or `unix://…`; the certificates are for `rediss://` alone.
    ///
    /// # Errors
    /// When the URL is not one, or a certificate is none.
    pub fn at(url: &str, certificates: Certificates) -> Result<Self, RedisError> {
        let info = url.into_connection_info()?;
        if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            return Ok(Self(info));
        }
        let Certificates { authorities, own } = certificates;
        let client_tls = own.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
        let client = Client::build_with_tls(info, TlsCertificates { client_tls, root_cert: authorities })?;
        Ok(Self(client.get_connection_info().clone()))
    }

    /// Host and port, or the socket: never who asks, nor their password.
    pub(crate) fn place(&self) -> String {
        self.0.addr().to_string()
    }

    /// Its host, which other nodes of a cluster may share.
    pub(crate) fn host(&self) -> &str {
        match self.0.addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
            _ => "",
        }
    }

    /// Another node of the same cluster: it is asked by the same user, and over TLS if this one is.
    pub(crate) fn at_place(&self, host: &str, port: u16) -> Self {
        let addr = match self.0.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host: host.to_owned(),
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host.to_owned(), port),
        };
        Self(self.0.clone().set_addr(addr))
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
        assert!(matches!(other.0.addr(), ConnectionAddr::TcpTls { .. }));
        assert_eq!(
            (other.0.redis_settings().username(), other.0.redis_settings().password()),
            (Some("ann"), Some("pw"))
        );
    }
}
