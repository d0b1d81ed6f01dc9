//! TLS: the handshake, the choice of HTTP/1 or HTTP/2, and a certificate that is read again when its files change.

use std::{fmt, io, path::PathBuf, sync::Arc, time::Duration};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{io::AsyncRead, io::AsyncWrite, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use intray_base::{
    files::{self, Describe, Watched},
    waits::hurried,
};

/// ALPN protocol names, in order of preference.
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
/// For the whole handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The certificate of the service, read again when its files change. Cheap to clone.
#[derive(Clone)]
pub struct Certificate {
    shown: CertificateResolver,
    config: Arc<ServerConfig>,
}

#[derive(Clone)]
struct CertificateResolver(Arc<Watched<CertificateAndKey>>);

/// A chain of certificates, and the key of the first.
struct CertificateAndKey(Arc<CertifiedKey>);

impl Certificate {
    /// Reads a file of certificates and the file of the key.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn open(files: [PathBuf; 2]) -> Result<Self, String> {
        let shown = CertificateResolver(Arc::new(Watched::open(files.to_vec(), CertificateAndKey::of)?));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(shown.clone()));
        config.alpn_protocols = [HTTP2, HTTP1].map(<[u8]>::to_vec).to_vec();
        Ok(Self { shown, config: Arc::new(config) })
    }

    /// Reads the files again when they have changed, until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        files::watch("the certificate", move || self.shown.0.check(), stop).await;
    }

    /// The handshake.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(super) async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        timeout(hurried(HANDSHAKE_TIMEOUT), TlsAcceptor::from(self.config.clone()).accept(stream)).await?
    }
}

/// Whether HTTP/2 was agreed on.
pub(super) fn is_http2<S>(stream: &TlsStream<S>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(HTTP2)
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.now().0.clone())
    }
}

impl fmt::Debug for CertificateResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}

impl CertificateAndKey {
    /// Parses the two files.
    fn of(texts: &[String]) -> Result<Self, String> {
        let [certificates, key] = texts else { return Err("a certificate and its key are two files".to_owned()) };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates.as_bytes()).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or("no certificate in PEM")?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| "no private key in PEM")?;
        match CertifiedKey::from_der(chain, key, &ring::default_provider()) {
            Ok(signed) => Ok(Self(Arc::new(signed))),
            Err(rustls::Error::InconsistentKeys(_)) => Err("the key is not that of the certificate".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Describe for CertificateAndKey {
    fn describe(&self) -> String {
        format!("{} certificates", self.0.cert.len())
    }
}
