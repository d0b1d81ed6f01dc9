//! Checks which callers the settings let in: refuses dangerous combinations, and warns the operator about doubtful ones.

use std::ffi::OsString;

use super::{Origin, Serve};
use crate::files;

/// A setting that exposes the service, and its remedy.
struct Opening {
    what: String,
    remedy: &'static str,
}

impl Serve {
    /// Whether a source of credentials is configured.
    pub fn has_access_control(&self) -> bool {
        self.keys_file.is_some() || self.jwks_file.is_some() || self.signing.secrets().next().is_some()
    }

    /// Returns a warning about files of secrets that every user can read.
    pub fn world_readable_secrets(&self) -> Option<String> {
        let secrets = self.signing.token_secret_file.iter().map(|file| &file.path);
        let url = self.store.redis_url_file.iter().map(|file| &file.path);
        let keys = self.store.redis_tls.key_file().into_iter().chain(self.tls.key_file());
        let password = self.store.sentinel.password_file();
        let all =
            self.keys_file.iter().chain(&self.webhooks_file).chain(secrets).chain(url).chain(keys).chain(password);
        let open = all.filter(|file| files::is_world_readable(file));
        let open: Vec<_> = open.map(|file| file.display().to_string()).collect();
        (!open.is_empty()).then(|| format!("{} can be read by all users of this machine: chmod o-r", open.join(", ")))
    }

    /// Checks that without access control, only this machine and the web pages of named origins can reach the service, unless
    /// `--insecure` is set.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn exposure(&self) -> Result<(), String> {
        if let Some(name) = self.empty_guard(|name| std::env::var_os(name)) {
            return Err(format!("{name} is set and empty, which guards nothing: give it a value, or unset it"));
        }
        match self.opening() {
            Some(open) if !self.insecure => Err(format!("{}: {}", open.what, open.remedy)),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns a warning about a service that others can reach without credentials, as `--insecure` allows.
    pub fn exposure_warning(&self) -> Option<String> {
        let open = self.opening().filter(|_| self.insecure)?;
        Some(format!("nothing guards the service, as --insecure allows: {}", open.what))
    }

    /// Returns the setting that opens the service to others, if there is no access control.
    fn opening(&self) -> Option<Opening> {
        if self.has_access_control() {
            return None;
        }
        if self.cors_origin.contains(&Origin::Any) {
            let what =
                "--cors-origin '*' lets any web page read and change everything while there is no access control";
            let remedy = "name the origins, give it keys (--keys-file), or say --insecure (INTRAY_INSECURE=true)";
            return Some(Opening { what: what.to_owned(), remedy });
        }
        let what = format!("{} can be reached from other machines and there is no access control", self.listen);
        let remedy = "give it keys (--keys-file), listen on 127.0.0.1, or say --insecure (INTRAY_INSECURE=true) if something in front keeps strangers out";
        (!self.listen.is_loopback()).then_some(Opening { what, remedy })
    }

    /// Returns an access control or TLS variable that is empty, as compose passes undefined ones, and that no flag replaces.
    fn empty_guard(&self, variable: impl Fn(&str) -> Option<OsString>) -> Option<&'static str> {
        let is_plain = self.tls.files().is_none();
        let guards = [
            ("INTRAY_KEYS_FILE", self.keys_file.is_none()),
            ("INTRAY_JWKS_FILE", self.jwks_file.is_none()),
            ("INTRAY_TOKEN_SECRET", self.signing.token_secret.is_empty()),
            ("INTRAY_TOKEN_SECRET_FILE", self.signing.token_secret_file.is_empty()),
            ("INTRAY_TLS_CERT_FILE", is_plain),
            ("INTRAY_TLS_KEY_FILE", is_plain),
        ];
        let is_empty = |name| variable(name).is_some_and(|value| value.as_encoded_bytes().trim_ascii().is_empty());
        guards.into_iter().find(|(name, is_unset)| *is_unset && is_empty(name)).map(|(name, _)| name)
    }
}
