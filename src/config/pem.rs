//! PEM files: certificates and their keys. Their contents are never printed.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use clap::{Arg, Command, builder::TypedValueParser};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use super::redis_url::refusal;
use crate::{files, job::Invalid};

/// A file whose contents have been checked.
#[derive(Clone)]
pub(super) struct PemFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl fmt::Debug for PemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PemFile({})", self.path.display())
    }
}

/// The kind of contents that a file must have.
#[derive(Clone)]
pub(super) struct Pem {
    is_there: fn(&[u8]) -> bool,
    rule: Invalid,
}

impl Pem {
    pub(super) const CERTIFICATES: Self =
        Self { is_there: has_certificates, rule: Invalid("it holds no certificate in PEM") };
    pub(super) const KEY: Self = Self { is_there: has_key, rule: Invalid("it holds no private key in PEM") };
}

fn has_certificates(text: &[u8]) -> bool {
    let mut certificates = CertificateDer::pem_slice_iter(text).peekable();
    certificates.peek().is_some() && certificates.all(|certificate| certificate.is_ok())
}

fn has_key(text: &[u8]) -> bool {
    PrivateKeyDer::from_pem_slice(text).is_ok()
}

#[derive(Clone)]
pub(super) struct PemParser(pub(super) Pem);

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
