//! Where a webhook is sent.

use std::fmt;

use hyper::Uri;
use intray_base::hosts::{is_loopback, split_port, unbracketed};
use thiserror::Error;

/// A URL that a webhook may be sent to. `Debug` shows its host alone, because paths and queries of such URLs are secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    uri: Uri,
    host: String,
}

/// Why a URL is refused. The text never quotes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TargetError {
    #[error("must be https://host[:port], with a path and a query or without")]
    Form,
    #[error("must begin with https://, or with http:// for a receiver on this machine")]
    Scheme,
    #[error("must be visible ASCII: write the host as punycode (xn--…) and the rest with %")]
    Ascii,
    #[error("must not name a user or a password: the signature shows who has sent a webhook")]
    UserInfo,
    #[error("must have no fragment, because no receiver gets one")]
    Fragment,
    #[error("may be http:// for 127.0.0.0/8, [::1] and localhost only, unless it is followed by plain")]
    Plain,
}

impl Target {
    /// Parses a URL. `is_plain_allowed`: http may leave this machine.
    ///
    /// # Errors
    /// The rule that the URL breaks.
    pub fn parse(url: &str, is_plain_allowed: bool) -> Result<Self, TargetError> {
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TargetError::Ascii);
        }
        let (scheme, rest) = url.split_once("://").ok_or(TargetError::Scheme)?;
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(TargetError::Scheme),
        };
        if rest.contains('#') {
            return Err(TargetError::Fragment);
        }
        let (authority, _) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(TargetError::UserInfo);
        }
        let (host, port) = split_port(authority).ok_or(TargetError::Form)?;
        let host = unbracketed(host).ok_or(TargetError::Form)?.to_ascii_lowercase();
        let uri: Uri = url.parse().map_err(|_| TargetError::Form)?;
        if port == Some(0) || uri.host().is_none() {
            return Err(TargetError::Form);
        }
        if !is_tls && !is_plain_allowed && !is_loopback(&host) {
            return Err(TargetError::Plain);
        }
        Ok(Self { uri, host })
    }

    /// The host without its port, which may be shown. An IPv6 address has no brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn uri(&self) -> Uri {
        self.uri.clone()
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_anywhere_and_http_to_loopback_are_accepted() {
        for (url, host) in [
            ("https://hooks.example/services/T0/B0?token=a", "hooks.example"),
            ("HTTPS://Hooks.Example", "hooks.example"),
            ("https://10.0.0.7:8443/", "10.0.0.7"),
            ("https://[2001:db8::1]/x", "2001:db8::1"),
            ("https://xn--bcher-kva.example?a=@b", "xn--bcher-kva.example"),
            ("http://127.0.0.1:9000/x", "127.0.0.1"),
            ("http://127.9.9.9", "127.9.9.9"),
            ("http://[::1]:80/x", "::1"),
            ("http://LOCALHOST/x", "localhost"),
        ] {
            assert_eq!(Target::parse(url, false).expect(url).host(), host);
        }
    }

    #[test]
    fn http_to_other_hosts_needs_plain() {
        for url in ["http://hooks.example/x", "http://10.0.0.7/x", "http://localhost.example", "http://[2001:db8::1]/"]
        {
            assert_eq!(Target::parse(url, false), Err(TargetError::Plain), "{url}");
            assert!(Target::parse(url, true).is_ok(), "{url}");
        }
    }

    #[test]
    fn other_urls_are_refused_and_not_quoted() {
        for (url, error) in [
            ("hooks.example/secret", TargetError::Scheme),
            ("ftp://hooks.example/secret", TargetError::Scheme),
            ("unix:///secret", TargetError::Scheme),
            ("https:///secret", TargetError::Form),
            ("https://", TargetError::Form),
            ("https://:443/secret", TargetError::Form),
            ("https://hooks.example:/secret", TargetError::Form),
            ("https://hooks.example:0/secret", TargetError::Form),
            ("https://hooks.example:65536/secret", TargetError::Form),
            ("https://hooks$example/secret", TargetError::Form),
            ("https://[::1/secret", TargetError::Form),
            ("https://user:secret@hooks.example/", TargetError::UserInfo),
            ("https://secret@hooks.example", TargetError::UserInfo),
            ("http://127.0.0.1@hooks.example/secret", TargetError::UserInfo),
            ("https://hooks.example/secret#part", TargetError::Fragment),
            ("https://bücher.example/secret", TargetError::Ascii),
            ("https://hooks.example/sec ret", TargetError::Ascii),
        ] {
            assert_eq!(Target::parse(url, true), Err(error), "{url}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn debug_output_shows_the_host_alone() {
        let target = Target::parse("https://hooks.example:8443/secret?secret", false).expect("a URL");
        assert_eq!(format!("{target:?}"), "Target(hooks.example)");
    }
}
