//! An address, and how connections to it are kept from others' eyes.

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError, TlsCertificates};

/// What TLS goes by, in PEM. Without anything: whom this machine trusts, and nothing to show.
#[derive(Clone, Default)]
pub struct Certificates {
    /// Who may have signed the server's certificate.
    pub authorities: Option<Vec<u8>>,
    /// Ours, and its key.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

pub(super) fn fixed(url: &str, certificates: Certificates) -> Result<ConnectionInfo, RedisError> {
    let info = url.into_connection_info()?;
    if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        return Ok(info);
    }
    let Certificates { authorities, own } = certificates;
    let client_tls = own.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
    let client = Client::build_with_tls(info, TlsCertificates { client_tls, root_cert: authorities })?;
    Ok(client.get_connection_info().clone())
}
