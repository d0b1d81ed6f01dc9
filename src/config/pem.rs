//! PEM files: certificates and their keys. Their contents are never printed.

use intray_base::flags::{FileParser, FlagFile};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use crate::job::Invalid;

/// A file whose text has been checked.
pub(super) type PemFile = FlagFile<String>;

pub(super) const CERTIFICATES: FileParser<String, Invalid> = FileParser(certificates);
pub(super) const PRIVATE_KEY: FileParser<String, Invalid> = FileParser(private_key);

fn certificates(text: &str) -> Result<String, Invalid> {
    let mut all = CertificateDer::pem_slice_iter(text.as_bytes()).peekable();
    let are_valid = all.peek().is_some() && all.all(|certificate| certificate.is_ok());
    are_valid.then(|| text.to_owned()).ok_or(Invalid("it holds no certificate in PEM"))
}

fn private_key(text: &str) -> Result<String, Invalid> {
    let is_valid = PrivateKeyDer::from_pem_slice(text.as_bytes()).is_ok();
    is_valid.then(|| text.to_owned()).ok_or(Invalid("it holds no private key in PEM"))
}
