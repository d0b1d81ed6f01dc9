//! Connections to receivers: names, TCP, TLS.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{HttpConnector, dns::Name};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tower::Service;

use crate::failure::UnresolvedName;

pub type Connector = HttpsConnector<HttpConnector<Resolver>>;

/// The authorities that this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` replace them.
pub fn native_authorities() -> RootCertStore {
    let mut authorities = RootCertStore::empty();
    // Certificates that cannot be read are left out: the machine may have old ones that are not used.
    let _ = authorities.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    authorities
}

pub fn connector(authorities: RootCertStore, timeout: std::time::Duration) -> Result<Connector, String> {
    let mut tcp = HttpConnector::new_with_resolver(Resolver);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // The call stops waiting by then, and what connects on for the next call must end too.
    tcp.set_connect_timeout(Some(timeout));
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(authorities)
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp))
}

/// Asks the operating system for the addresses of a name. Its error has a type of its own, so that it can be recognized.
#[derive(Clone)]
pub struct Resolver;

type Addresses = vec::IntoIter<SocketAddr>;

impl Service<Name> for Resolver {
    type Response = Addresses;
    type Error = UnresolvedName;
    type Future = Pin<Box<dyn Future<Output = Result<Addresses, UnresolvedName>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), UnresolvedName>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|_| UnresolvedName)?;
            let found: Vec<_> = found.collect();
            if found.is_empty() { Err(UnresolvedName) } else { Ok(found.into_iter()) }
        })
    }
}
