//! What the desk may load from elsewhere: images, and the token of a person who is signed in at the operator's site.

use std::{fmt, str::FromStr};

use clap::Args;
use intray_base::hosts::{is_loopback, split_port};

use super::NO_HEADING;
use crate::job::Invalid;

#[derive(Debug, Args)]
pub struct DeskOptions {
    /// Where images are that the desk shows, like https://cdn.example/photos/; repeatable, or a comma list
    #[arg(long, help_heading = NO_HEADING, env = "INTRAY_DESK_IMAGE_ORIGIN", value_name = "URL", value_delimiter = ',')]
    pub desk_image_origin: Vec<ImageOrigin>,
    /// Where the desk asks for the token of a person who is signed in there, like https://site.example/desk-token
    #[arg(long, help_heading = NO_HEADING, env = "INTRAY_DESK_TOKEN_URL", value_name = "URL")]
    pub desk_token_url: Option<TokenUrl>,
}

/// The address below which images are shown. It ends with a slash, so that no other name begins with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageOrigin(Address);

impl FromStr for ImageOrigin {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_folder = |address: &Address| address.scheme == "https" && address.path.ends_with('/');
        Address::parse(text).filter(is_folder).map(Self).ok_or(Invalid(
            "must be https://host[:port], also with a path that ends with /; a host in ASCII, a path of letters, digits and -._~; \
             without user, query, fragment and *",
        ))
    }
}

impl fmt::Display for ImageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a person's token is asked for. Plain HTTP stays on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUrl(Address);

impl FromStr for TokenUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_safe = |address: &Address| address.scheme == "https" || is_loopback(&address.host);
        Address::parse(text).filter(is_safe).map(Self).ok_or(Invalid(
            "must be https://host[:port]/path, or http:// for 127.0.0.0/8 and localhost only; a host in ASCII, a path of letters, \
             digits and -._~; without user, query, fragment and *",
        ))
    }
}

impl fmt::Display for TokenUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A URL as a browser writes it after it has read it, of the characters that a source in a content policy may have (CSP 3,
/// section 2.3.1): there is nothing in it that either would resolve, decode, or take for the end of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Address {
    scheme: &'static str,
    host: String,
    /// None: the scheme's own.
    port: Option<u16>,
    path: String,
}

impl Address {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once("://")?;
        let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "https" => ("https", 443),
            "http" => ("http", 80),
            _ => return None,
        };
        let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = split_port(place)?;
        let host = host.to_ascii_lowercase();
        let path = if path.is_empty() { "/" } else { path };
        let is_valid = is_host(&host) && port != Some(0) && is_path(path);
        let port = port.filter(|port| *port != default_port);
        is_valid.then(|| Self { scheme, host, port, path: path.to_owned() })
    }
}

/// A name, or an IPv4 address, for which browsers take any name that ends in a number. A content policy can name no IPv6 address.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let ends_in_number = host.rsplit('.').next().is_some_and(|label| label.starts_with(|c: char| c.is_ascii_digit()));
    let is_address = || host.parse::<std::net::Ipv4Addr>().is_ok();
    host.len() <= 253 && host.split('.').all(is_label) && (!ends_in_number || is_address())
}

/// The last part may be empty.
fn is_path(path: &str) -> bool {
    let is_clean = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b));
    let mut parts: Vec<_> = path.split('/').skip(1).collect();
    parts.pop_if(|last| last.is_empty());
    parts.iter().all(|part| is_clean(part) && !["", ".", ".."].contains(part))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, port, path } = self;
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        write!(f, "{scheme}://{host}{port}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_origins_are_kept_as_browsers_write_them() {
        for (text, kept) in [
            ("https://cdn.example", "https://cdn.example/"),
            ("https://cdn.example/", "https://cdn.example/"),
            ("HTTPS://CDN.Example:443/Photos/a-b_c.d~/", "https://cdn.example/Photos/a-b_c.d~/"),
            (" https://cdn.example:8443/..photos/ ", "https://cdn.example:8443/..photos/"),
            ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
            ("https://192.0.2.7/x/", "https://192.0.2.7/x/"),
        ] {
            assert_eq!(text.parse::<ImageOrigin>().map(|origin| origin.to_string()), Ok(kept.to_owned()), "{text}");
        }
    }

    #[test]
    fn images_come_from_folders_of_https_hosts_alone() {
        for text in
            ["http://cdn.example/", "http://127.0.0.1/", "ftp://cdn.example/", "cdn.example", "//cdn.example/", "/"]
        {
            assert!(text.parse::<ImageOrigin>().is_err(), "{text}");
        }
        for rest in ["/photos", "/photos/x.png", "/photos/../", "/./", "//", "/a//", "/%2e%2e/", "/a%2fb/", "/\\/"] {
            assert!(format!("https://cdn.example{rest}").parse::<ImageOrigin>().is_err(), "{rest}");
        }
        for rest in ["/?x", "/#x", "?x/", "#/", "/*/", ":0/", ":/", ":*/", ":65536/", "/a;b/", "/a b/", "/a'b/", "/ä/"]
        {
            assert!(format!("https://cdn.example{rest}").parse::<ImageOrigin>().is_err(), "{rest}");
        }
        let hosts = [
            "*",
            "*.example",
            "",
            ".",
            "a.",
            "a..b",
            "u@a",
            "u:p@a",
            "[::1]",
            "a_b",
            "bücher.example",
            "1.2",
            "0x7f.1",
            "127.0.0.01",
            "a\\b",
            "'self'",
            "a;script-src",
            "a b",
            "data:",
        ];
        for host in hosts {
            assert!(format!("https://{host}/").parse::<ImageOrigin>().is_err(), "{host}");
        }
    }

    #[test]
    fn token_comes_over_https_or_from_this_machine() {
        for (text, kept) in [
            ("https://site.example/desk-token", "https://site.example/desk-token"),
            ("https://Site.example:443", "https://site.example/"),
            ("http://127.0.0.1:8080/t", "http://127.0.0.1:8080/t"),
            ("http://localhost:80/t/", "http://localhost/t/"),
        ] {
            assert_eq!(text.parse::<TokenUrl>().map(|url| url.to_string()), Ok(kept.to_owned()), "{text}");
        }
        for text in [
            "http://site.example/t",
            "http://localhost.example/t",
            "http://127.0.0.1@site.example/t",
            "http://[::1]/t",
            "https://u@site.example/t",
            "https://site.example/t?as=x",
            "https://site.example/t#x",
            "https://*/t",
            "/t",
            "https://site.example/a/../t",
            "https://site.example/t;x",
            "wss://site.example/t",
            "javascript://site.example/t",
        ] {
            assert!(text.parse::<TokenUrl>().is_err(), "{text}");
        }
    }
}
