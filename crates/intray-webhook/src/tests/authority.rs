//! Certificates of a test's own.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::{RootCertStore, ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    pub fn store(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add(self.0.der().clone()).expect("a certificate");
        store
    }

    /// A server of this name, whose certificate is valid between the beginnings of two years.
    pub fn server(&self, name: &str, years: [i32; 2]) -> TlsAcceptor {
        let mut params = CertificateParams::new([name.to_owned()]).expect("parameters");
        [params.not_before, params.not_after] = years.map(|year| date_time_ymd(year, 1, 1));
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a certificate and its key");
        TlsAcceptor::from(Arc::new(config))
    }
}
