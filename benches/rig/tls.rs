//! A certificate of the bench, and clients that trust it.

use std::{fs, net::SocketAddr, sync::Arc};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

const NAME: &str = "localhost";

pub struct Tls {
    folder: TempDir,
    connector: TlsConnector,
}

impl Tls {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
        fs::write(folder.path().join("certificate"), cert.pem()).expect("written");
        fs::write(folder.path().join("key"), signing_key.serialize_pem()).expect("written");
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(cert.der().to_vec())).expect("a certificate");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { folder, connector: TlsConnector::from(Arc::new(config)) }
    }

    /// The name in the certificate.
    pub fn environment(&self) -> [(&str, std::path::PathBuf); 2] {
        let file = |name| self.folder.path().join(name);
        [("INTRAY_TLS_CERT_FILE", file("certificate")), ("INTRAY_TLS_KEY_FILE", file("key"))]
    }

    pub async fn connect(&self, to: SocketAddr) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(to).await.expect("the service");
        stream.set_nodelay(true).expect("nodelay");
        self.connector.connect(ServerName::try_from(NAME).expect("a name"), stream).await.expect("a handshake")
    }
}
