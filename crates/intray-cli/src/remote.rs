//! The service that a command calls: its URL, the key to send, and the certificate authorities to trust.

use std::{env, ffi::OsStr, fmt};

use clap::Args;
use intray_base::{
    flags::{FileParser, FlagFile, UnquotedParser},
    hosts::{split_port, unbracketed},
};
use intray_job::Invalid;
use rustls::pki_types::{CertificateDer, pem::PemObject};

/// The variable that holds the key itself. There is no such flag, because every user of a machine can read all arguments.
pub const KEY_VARIABLE: &str = "INTRAY_KEY";

/// What to do about a refusal with this status, to be put after its detail.
pub fn hint(status: u16) -> &'static str {
    if status == 401 { " (--key-file names a file with it, or INTRAY_KEY holds it)" } else { "" }
}

#[derive(Debug, Args)]
pub struct Remote {
    /// URL of the service, http://host:port or https://host; with a path after it if a proxy serves it below one
    #[arg(long, env = "INTRAY_URL", value_name = "URL", default_value = "http://127.0.0.1:7070", value_parser = UnquotedParser(ServiceUrl::from_flag))]
    pub url: ServiceUrl,
    /// File whose first line is a key or a token, if there is access control; none: the variable INTRAY_KEY holds it
    #[arg(long, env = "INTRAY_KEY_FILE", value_name = "FILE", value_parser = FileParser(ServiceKey::parse))]
    key_file: Option<FlagFile<ServiceKey>>,
    /// Certificate authorities to trust for an https:// service, in PEM; none: those that this machine trusts
    #[arg(long, env = "INTRAY_CA_FILE", value_name = "FILE", value_parser = FileParser(certificates))]
    ca_file: Option<FlagFile<Vec<CertificateDer<'static>>>>,
}

impl Remote {
    /// Returns the key from the file, else from the variable.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn key(&self) -> Result<Option<ServiceKey>, String> {
        if let Some(file) = &self.key_file {
            return Ok(Some(file.content.clone()));
        }
        let key = env::var_os(KEY_VARIABLE).filter(|key| !key.is_empty());
        key.map(|key| ServiceKey::parse(&key.to_string_lossy()).map_err(|rule| format!("{KEY_VARIABLE}: {rule}")))
            .transpose()
    }

    /// Returns the certificate authorities.
    ///
    /// # Errors
    /// One line for the operator, if the file is set and the URL is not https.
    pub fn authorities(&self) -> Result<Option<&[CertificateDer<'static>]>, String> {
        match &self.ca_file {
            Some(_) if !self.url.is_tls => Err("--ca-file is for an https:// URL".to_owned()),
            file => Ok(file.as_ref().map(|file| file.content.as_slice())),
        }
    }
}

/// A key or a token. Only [`ServiceKey::expose`] shows it.
#[derive(Clone)]
pub struct ServiceKey(String);

impl ServiceKey {
    fn parse(text: &str) -> Result<Self, Invalid> {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty()).ok_or(Invalid("it holds no key"))?;
        let clean = first.bytes().all(|byte| byte.is_ascii_graphic());
        if clean { Ok(Self(first.to_owned())) } else { Err(Invalid("it holds no key, but several words")) }
    }

    /// Returns the text, only to be sent in a request.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceKey(…)")
    }
}

fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, Invalid> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or(Invalid("it holds no certificate in PEM"))
}

/// The URL of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceUrl {
    pub is_tls: bool,
    /// An IPv6 address is without brackets.
    pub host: String,
    pub port: u16,
    /// The value of the `Host` header.
    pub authority: String,
    /// The prefix of all paths: empty, or a slash and a name.
    pub base: String,
}

impl ServiceUrl {
    const RULE: Invalid = Invalid(
        "must be http://host[:port] or https://host[:port], with a path or none; a key goes into INTRAY_KEY_FILE",
    );

    fn from_flag(value: &OsStr) -> Result<Self, Invalid> {
        value.to_str().ok_or(Self::RULE).and_then(Self::parse)
    }

    fn parse(text: &str) -> Result<Self, Invalid> {
        let (scheme, rest) = text.trim().split_once("://").ok_or(Self::RULE)?;
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(Self::RULE),
        };
        let (authority, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let base = base.trim_end_matches('/');
        let (host, port) = split_port(authority).ok_or(Self::RULE)?;
        let host = unbracketed(host).ok_or(Self::RULE)?.to_owned();
        let clean = base.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
        if !clean {
            return Err(Self::RULE);
        }
        let port = port.unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self { is_tls, host, port, authority: authority.to_owned(), base: base.to_owned() })
    }
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", if self.is_tls { "https" } else { "http" }, self.authority, self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_by_its_url() {
        let url = |text| ServiceUrl::parse(text).map(|url| (url.is_tls, url.host, url.port, url.base));
        let is = |tls, host: &str, port, base: &str| Ok((tls, host.to_owned(), port, base.to_owned()));
        assert_eq!(url("http://127.0.0.1:7070"), is(false, "127.0.0.1", 7070, ""));
        assert_eq!(url("https://queue.example/"), is(true, "queue.example", 443, ""));
        assert_eq!(url("HTTP://[::1]/a/intray/"), is(false, "::1", 80, "/a/intray"));
        for wrong in
            ["queue", "ftp://queue", "http://", "http://a:b@queue", "http://queue:x", "http://queue/?a", "http://q/ a"]
        {
            assert!(ServiceUrl::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn service_key_is_the_first_line_and_is_never_printed() {
        let key = ServiceKey::parse("\n intray_ab \nroot operator * 00\n").expect("a key");
        assert_eq!((key.expose(), format!("{key:?}").as_str()), ("intray_ab", "ServiceKey(…)"));
        for wrong in ["", "\n \n", "root operator * 00", "schlüssel"] {
            assert!(ServiceKey::parse(wrong).is_err(), "{wrong}");
        }
    }
}
