//! Who could come in as things are set: what is refused, and what an operator is told of.

use super::{Origin, Serve};
use crate::files;

impl Serve {
    /// Whether there is anything that lets somebody in.
    pub fn has_access_control(&self) -> bool {
        self.keys_file.is_some() || self.jwks_file.is_some() || self.signing.secrets().next().is_some()
    }

    /// A sentence about files of secrets that are not closed.
    pub fn open_secrets(&self) -> Option<String> {
        let secrets = self.signing.token_secret_file.iter().map(|file| &file.path);
        let url = self.store.redis_url_file.iter().map(|file| &file.path);
        let keys = self.store.redis_tls.key_file().into_iter().chain(self.tls.key_file());
        let open =
            self.keys_file.iter().chain(secrets).chain(url).chain(keys).filter(|file| files::is_everybodys(file));
        let open: Vec<_> = open.map(|file| file.display().to_string()).collect();
        (!open.is_empty()).then(|| format!("{} can be read by everybody on this machine: chmod o-r", open.join(", ")))
    }

    /// Without access control, only this machine and pages that are named may reach the service, unless the operator says
    /// otherwise.
    ///
    /// # Errors
    /// One line for the operator.
    pub fn exposure(&self) -> Result<(), String> {
        if self.insecure || self.has_access_control() {
            return Ok(());
        }
        if self.cors_origin.contains(&Origin::Any) {
            return Err(
                "--cors-origin '*' lets any web page read and change everything while there is no access control: \
                 name the origins, give it keys (--keys-file), or say --insecure (INTRAY_INSECURE=true)"
                    .to_owned(),
            );
        }
        if self.listen.is_loopback() {
            return Ok(());
        }
        let listen = &self.listen;
        Err(format!(
            "{listen} can be reached from other machines and there is no access control: \
             give it keys (--keys-file), listen on 127.0.0.1, or say --insecure (INTRAY_INSECURE=true) if something in front keeps strangers out"
        ))
    }
}
