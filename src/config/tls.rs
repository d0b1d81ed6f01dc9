//! Settings of a service that serves HTTPS itself.

use std::path::PathBuf;

use clap::Args;

use super::pem::{CERTIFICATES, PRIVATE_KEY, PemFile};

#[derive(Debug, Args)]
#[command(next_help_heading = "HTTPS")]
pub struct TlsOptions {
    /// The certificate chain to serve HTTPS with, in PEM; read again when it changes
    #[arg(long, env = "INTRAY_TLS_CERT_FILE", value_name = "FILE", requires = "tls_key_file")]
    #[arg(value_parser = CERTIFICATES)]
    tls_cert_file: Option<PemFile>,
    /// Its key, in PEM; read again when it changes
    #[arg(long, env = "INTRAY_TLS_KEY_FILE", value_name = "FILE", requires = "tls_cert_file")]
    #[arg(value_parser = PRIVATE_KEY)]
    tls_key_file: Option<PemFile>,
}

impl TlsOptions {
    /// The certificate's file and the key's; none: plain HTTP.
    pub fn files(&self) -> Option<[PathBuf; 2]> {
        let (certificate, key) = (self.tls_cert_file.as_ref()?, self.tls_key_file.as_ref()?);
        Some([certificate.path.clone(), key.path.clone()])
    }

    pub(super) fn key_file(&self) -> Option<&PathBuf> {
        self.tls_key_file.as_ref().map(|file| &file.path)
    }
}
