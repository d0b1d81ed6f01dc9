//! A running service that a command calls, and what it is to do there.

use std::{fmt, path::PathBuf, str::FromStr};

use clap::Args;

use super::pem::{Pem, PemFile, PemParser};
use crate::{
    files,
    job::{Invalid, QueueName, State},
};

/// Where a service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceUrl {
    pub is_tls: bool,
    /// `host` or `host:port`
    pub authority: String,
    /// What stands before each path: nothing, or `/…` without a slash at its end.
    pub base: String,
}

impl FromStr for ServiceUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        const RULE: Invalid = Invalid("must be http://host[:port] or https://host[:port]");
        let (scheme, rest) = text.split_once("://").ok_or(RULE)?;
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(RULE),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "?#@\\".contains(c);
        if authority.is_empty() || text.contains(is_odd) {
            return Err(RULE);
        }
        let path = path.trim_matches('/');
        let base = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Self { is_tls, authority: authority.to_owned(), base })
    }
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.base)
    }
}

#[derive(Debug, Args)]
pub struct Remote {
    /// The service, like https://queue.example
    #[arg(long, env = "INTRAY_URL", value_name = "URL", default_value = "http://127.0.0.1:7070")]
    pub url: ServiceUrl,
    /// A file that holds the key or token to call it with; without it INTRAY_KEY is looked at
    #[arg(long, env = "INTRAY_KEY_FILE", value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Who may have signed its certificate, in PEM; none: those whom this machine trusts
    #[arg(long, env = "INTRAY_CA_FILE", value_name = "FILE", value_parser = PemParser(Pem::CERTIFICATES))]
    ca_file: Option<PemFile>,
}

impl Remote {
    /// The credential, from a file or the environment: an argument can be read by everybody on the machine.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn credential(&self) -> Result<Option<String>, String> {
        let found = match &self.key_file {
            None => std::env::var(super::environment::KEY).ok(),
            Some(path) => Some(files::read(path).map_err(|error| format!("{}: {error}", path.display()))?),
        };
        let found = found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        match found {
            Some(text) if !text.bytes().all(|byte| byte.is_ascii_graphic()) => Err("the key is not one".to_owned()),
            found => Ok(found),
        }
    }

    /// Certificates in PEM.
    pub fn authorities(&self) -> Option<&str> {
        self.ca_file.as_ref().map(|file| file.text.as_str())
    }
}

#[derive(Debug, Args)]
pub struct Import {
    /// A job a line, as JSON; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The queue of the lines that name none
    #[arg(long, value_parser = |text: &str| QueueName::parse(text))]
    pub queue: Option<QueueName>,
    /// Each line is the payload of a job
    #[arg(long)]
    pub payloads: bool,
    /// What makes it safe to run again: lines that came under the same key are not put there twice [default: made of the file's
    /// name and its first line]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    #[command(flatten)]
    pub remote: Remote,
}

#[derive(Debug, Args)]
pub struct Export {
    #[arg(value_parser = |text: &str| QueueName::parse(text))]
    pub queue: QueueName,
    /// Which jobs: waiting, blocked, delayed, reserved, completed, dead or cancelled
    #[arg(long, default_value = "completed", value_parser = |text: &str| State::parse(text).ok_or("is no state of a job"))]
    pub state: State,
    /// Only jobs of this client
    #[arg(long)]
    pub client: Option<String>,
    /// Behind this place of the list: the `next` of a line
    #[arg(long, value_name = "NEXT")]
    pub after: Option<String>,
    /// As a table
    #[arg(long)]
    pub csv: bool,
    /// Its columns: JSON pointers into a job, by commas, like id,/payload/photo
    #[arg(long, requires = "csv")]
    pub columns: Option<String>,
    /// Go on for ever with what is completed
    #[arg(long, conflicts_with = "csv")]
    pub follow: bool,
    /// Where it goes; none: standard output
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub remote: Remote,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_by_its_url() {
        let shown = |text: &str| text.parse::<ServiceUrl>().map(|url| url.to_string()).ok();
        for (text, expected) in [
            ("http://a", "http://a"),
            ("https://a.example:8443/", "https://a.example:8443"),
            ("http://[::1]:7070/queue/", "http://[::1]:7070/queue"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected));
        }
        for wrong in ["", "a", "ftp://a", "http://", "http:///x", "http://u:p@a", "http://a/?x", "http://a b"] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }
}
