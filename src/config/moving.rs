//! `intray move`: the Redis that queues are moved to.

use clap::Args;
use intray_base::flags::{FileParser, FlagFile, UnquotedParser};

use super::{
    RedisCertificates, RedisUrl, StoreOptions,
    pem::{CERTIFICATES, PRIVATE_KEY, PemFile},
    redis_tls::certificates,
};

#[derive(Debug, Args)]
pub struct Move {
    /// Where the queues go: redis://[user:password@]host[:port][/db], unix:///path or redis+cluster://host:port,host:port; with rediss for TLS
    #[arg(long, value_name = "URL", value_parser = UnquotedParser(RedisUrl::from_flag))]
    #[arg(required_unless_present_any = ["to_file", "cancel"])]
    to: Option<RedisUrl>,
    /// A file that holds that URL, for a URL with a password
    #[arg(long, value_name = "FILE", value_parser = FileParser(RedisUrl::parse), conflicts_with = "to")]
    to_file: Option<FlagFile<RedisUrl>>,
    /// The authorities for the certificate of a rediss:// server there, in PEM; none: those that this machine trusts
    #[arg(long, value_name = "FILE", value_parser = CERTIFICATES)]
    to_ca_file: Option<PemFile>,
    /// The client certificate for a rediss:// server there, in PEM
    #[arg(long, value_name = "FILE", requires = "to_key_file", value_parser = CERTIFICATES)]
    to_cert_file: Option<PemFile>,
    /// Its key, in PEM
    #[arg(long, value_name = "FILE", requires = "to_cert_file", value_parser = PRIVATE_KEY)]
    to_key_file: Option<PemFile>,
    /// Check both servers, print what would be moved, and change nothing
    #[arg(long, conflicts_with = "cancel")]
    pub dry_run: bool,
    /// Cancel a move that has begun: the queues are served again where they were
    #[arg(long)]
    pub cancel: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}

impl Move {
    /// The URL, and the same without its password for messages; none where a move is cancelled without it.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn to(&self) -> Result<Option<(String, String)>, String> {
        match self.to.as_ref().or(self.to_file.as_ref().map(|file| &file.content)) {
            None => Ok(None),
            Some(url @ RedisUrl::Url(secret)) => Ok(Some((secret.expose().to_owned(), url.to_string()))),
            Some(RedisUrl::Sentinels(_)) => Err("--to names the primary itself, not its sentinels".to_owned()),
            Some(RedisUrl::Embedded) => Err("--to is a server".to_owned()),
        }
    }

    /// The TLS settings for that server.
    ///
    /// # Errors
    /// One line for the operator, when the URL does not use TLS.
    pub fn to_tls(&self) -> Result<RedisCertificates, String> {
        let is_tls = match self.to.as_ref().or(self.to_file.as_ref().map(|file| &file.content)) {
            Some(RedisUrl::Url(url)) => url.asks_for_tls(),
            Some(RedisUrl::Embedded | RedisUrl::Sentinels(_)) | None => false,
        };
        let files = [&self.to_ca_file, &self.to_cert_file, &self.to_key_file];
        certificates(files, is_tls)
            .ok_or("--to-ca-file, --to-cert-file and --to-key-file are for a rediss:// URL".to_owned())
    }
}
