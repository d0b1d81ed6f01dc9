//! Settings for a Redis that uses TLS: the authorities for its certificate, and our client certificate.

use std::path::PathBuf;

use clap::Args;

use super::pem::{CERTIFICATES, PRIVATE_KEY, PemFile};

#[derive(Debug, Args)]
pub(super) struct RedisTls {
    /// The authorities for the certificate of a rediss:// server, in PEM; none: those that this machine trusts
    #[arg(long, env = "REDIS_CA_FILE", value_name = "FILE", value_parser = CERTIFICATES)]
    redis_ca_file: Option<PemFile>,
    /// The client certificate for a rediss:// server, in PEM
    #[arg(long, env = "REDIS_CERT_FILE", value_name = "FILE", requires = "redis_key_file")]
    #[arg(value_parser = CERTIFICATES)]
    redis_cert_file: Option<PemFile>,
    /// Its key, in PEM
    #[arg(long, env = "REDIS_KEY_FILE", value_name = "FILE", requires = "redis_cert_file")]
    #[arg(value_parser = PRIVATE_KEY)]
    redis_key_file: Option<PemFile>,
}

/// The contents of the files.
pub struct RedisCertificates {
    pub authorities: Option<Vec<u8>>,
    /// Our client certificate, and its key.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

impl RedisTls {
    pub(super) fn key_file(&self) -> Option<&PathBuf> {
        self.redis_key_file.as_ref().map(|file| &file.path)
    }

    pub(super) fn certificates(&self, is_tls: bool) -> Result<RedisCertificates, String> {
        let files = [&self.redis_ca_file, &self.redis_cert_file, &self.redis_key_file];
        let none = || "--redis-ca-file, --redis-cert-file and --redis-key-file are for a rediss:// URL".to_owned();
        certificates(files, is_tls).ok_or_else(none)
    }
}

/// Reads authorities, certificate and key; `None` when files are given but the URL does not use TLS.
pub(super) fn certificates(files: [&Option<PemFile>; 3], is_tls: bool) -> Option<RedisCertificates> {
    if !is_tls && files.iter().any(|file| file.is_some()) {
        return None;
    }
    let [authorities, certificate, key] = files.map(|file| file.as_ref().map(|file| file.content.clone().into_bytes()));
    Some(RedisCertificates { authorities, own: certificate.zip(key) })
}
