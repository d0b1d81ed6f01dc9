//! Why an attempt got no answer, in words that an operator can act on and that give no secret away.

use std::{error::Error as StdError, io};

use rustls::{CertificateError, pki_types::InvalidDnsNameError};
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AttemptError {
    #[error("the name cannot be resolved")]
    NameNotResolved,
    #[error("connection refused")]
    ConnectionRefused,
    #[error("the host cannot be reached")]
    Unreachable,
    #[error("the certificate has expired")]
    CertificateExpired,
    #[error("the certificate is not valid yet")]
    CertificateNotYetValid,
    #[error("the certificate is not for this host")]
    CertificateNotForHost,
    #[error("the certificate is of an unknown authority")]
    UnknownAuthority,
    #[error("this machine knows no certificate authorities: install ca-certificates, or set SSL_CERT_FILE")]
    NoAuthorities,
    #[error("the certificate cannot be used")]
    InvalidCertificate,
    #[error("not TLS")]
    NotTls,
    #[error("no TLS version or cipher in common")]
    TlsRefused,
    #[error("no answer within 15 s")]
    Timeout,
    #[error("the connection was closed")]
    Closed,
    #[error("not HTTP, or its headers are too long")]
    NotHttp,
}

/// A name has no address, or no server of names answers.
#[derive(Debug, Error)]
#[error("the name cannot be resolved")]
pub struct UnresolvedName;

impl AttemptError {
    /// The first cause that is known, from the outside to the inside.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(cause) = next {
            if let Some(found) = Self::known(cause) {
                return found;
            }
            // The cause inside an `io::Error` is no source of it.
            let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            next = inner.map(|inner| inner as &(dyn StdError + 'static)).or_else(|| cause.source());
        }
        Self::Closed
    }

    fn known(cause: &(dyn StdError + 'static)) -> Option<Self> {
        if cause.is::<UnresolvedName>() || cause.is::<InvalidDnsNameError>() {
            return Some(Self::NameNotResolved);
        }
        if let Some(error) = cause.downcast_ref::<rustls::Error>() {
            return Some(Self::of_tls(error));
        }
        if let Some(error) = cause.downcast_ref::<hyper::Error>() {
            return Self::of_http(error);
        }
        let error = cause.downcast_ref::<io::Error>().filter(|error| error.get_ref().is_none())?;
        Some(match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::ConnectionRefused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::NotConnected => Self::Closed,
            _ => Self::Unreachable,
        })
    }

    fn of_tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(wrong) => Self::of_certificate(wrong),
            rustls::Error::InvalidMessage(_) => Self::NotTls,
            _ => Self::TlsRefused,
        }
    }

    fn of_certificate(wrong: &CertificateError) -> Self {
        match wrong {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::CertificateExpired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::CertificateNotYetValid,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::CertificateNotForHost
            }
            CertificateError::UnknownIssuer => Self::UnknownAuthority,
            _ => Self::InvalidCertificate,
        }
    }

    /// `None`: the underlying cause says more.
    fn of_http(error: &hyper::Error) -> Option<Self> {
        if error.is_parse() {
            return Some(Self::NotHttp);
        }
        (error.is_incomplete_message() || error.is_closed() || error.is_canceled()).then_some(Self::Closed)
    }
}
