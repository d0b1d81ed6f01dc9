//! Files for a Redis behind TLS: who may have signed its certificate, and what shows it who we are.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use clap::{Arg, Args, Command, builder::TypedValueParser};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use super::redis_url::refusal;
use crate::{files, job::Invalid};

#[derive(Debug, Args)]
pub(super) struct RedisTls {
    /// Who may have signed the certificate of a rediss:// server, in PEM; none: those whom this machine trusts
    #[arg(long, env = "REDIS_CA_FILE", value_name = "FILE", value_parser = PemParser(Pem::CERTIFICATES))]
    redis_ca_file: Option<PemFile>,
    /// The certificate that a rediss:// server wants to see, in PEM
    #[arg(long, env = "REDIS_CERT_FILE", value_name = "FILE", requires = "redis_key_file")]
    #[arg(value_parser = PemParser(Pem::CERTIFICATES))]
    redis_cert_file: Option<PemFile>,
    /// Its key, in PEM
    #[arg(long, env = "REDIS_KEY_FILE", value_name = "FILE", requires = "redis_cert_file")]
    #[arg(value_parser = PemParser(Pem::KEY))]
    redis_key_file: Option<PemFile>,
}

/// What stands in the files.
pub struct RedisCertificates {
    pub authorities: Option<Vec<u8>>,
    /// Ours, and its key.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

impl RedisTls {
    pub(super) fn key_file(&self) -> Option<&PathBuf> {
        self.redis_key_file.as_ref().map(|file| &file.path)
    }

    pub(super) fn certificates(&self, is_tls: bool) -> Result<RedisCertificates, String> {
        let files = [&self.redis_ca_file, &self.redis_cert_file, &self.redis_key_file];
        if !is_tls && files.iter().any(|file| file.is_some()) {
            return Err("--redis-ca-file, --redis-cert-file and --redis-key-file are for a rediss:// URL".to_owned());
        }
        let [authorities, certificate, key] =
            files.map(|file| file.as_ref().map(|file| file.text.clone().into_bytes()));
        Ok(RedisCertificates { authorities, own: certificate.zip(key) })
    }
}

/// A file that holds what was asked for. What stands in it is not shown.
#[derive(Clone)]
struct PemFile {
    path: PathBuf,
    text: String,
}

impl fmt::Debug for PemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PemFile({})", self.path.display())
    }
}

/// What is to stand in a file.
#[derive(Clone)]
struct Pem {
    is_there: fn(&[u8]) -> bool,
    rule: Invalid,
}

impl Pem {
    const CERTIFICATES: Self = Self { is_there: has_certificates, rule: Invalid("it holds no certificate in PEM") };
    const KEY: Self = Self { is_there: has_key, rule: Invalid("it holds no private key in PEM") };
}

fn has_certificates(text: &[u8]) -> bool {
    let mut certificates = CertificateDer::pem_slice_iter(text).peekable();
    certificates.peek().is_some() && certificates.all(|certificate| certificate.is_ok())
}

fn has_key(text: &[u8]) -> bool {
    PrivateKeyDer::from_pem_slice(text).is_ok()
}

#[derive(Clone)]
struct PemParser(Pem);

impl TypedValueParser for PemParser {
    type Value = PemFile;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<PemFile, clap::Error> {
        let path = Path::new(value);
        let refused = |why: &dyn fmt::Display| refusal(cmd, arg, &format!("{}: {why}", path.display()));
        let text = files::read(path).map_err(|error| refused(&error))?;
        if !(self.0.is_there)(text.as_bytes()) {
            return Err(refused(&self.0.rule));
        }
        Ok(PemFile { path: path.to_owned(), text })
    }
}
