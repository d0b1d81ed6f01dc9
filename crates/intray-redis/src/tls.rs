//! TLS settings of a connection.

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError, TlsCertificates};

/// PEM texts for TLS. By default the authorities are those of this machine, and no client certificate is presented.
#[derive(Clone, Default)]
pub struct Certificates {
    /// The certificate authorities that may have signed the server's certificate.
    pub authorities: Option<Vec<u8>>,
    /// The client certificate and its key.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

pub(crate) fn connection_info(url: &str, certificates: Certificates) -> Result<ConnectionInfo, RedisError> {
    let info = url.into_connection_info()?;
    if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        return Ok(info);
    }
    let Certificates { authorities, own } = certificates;
    let client_tls = own.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
    let client = Client::build_with_tls(info, TlsCertificates { client_tls, root_cert: authorities })?;
    Ok(client.get_connection_info().clone())
}
