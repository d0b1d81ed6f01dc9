//! The options of `intray webhook`.

use std::fmt;

use clap::Args;

/// The file's own parser checks these texts, so that the command refuses what the file would refuse.
#[derive(Args)]
pub struct WebhookCommand {
    /// Name of the webhook
    pub name: String,
    /// Where events are sent: https://, or http:// to this machine
    pub url: String,
    /// Queues whose events are sent: a name, or a pattern with *
    pub pattern: String,
    /// Types of events, a comma list like completed,dead,cancelled,batch-completed; or all
    pub types: String,
    /// Let http:// leave this machine, where bodies and signatures can be read on the way
    #[arg(long)]
    pub plain: bool,
}

/// The path of the URL is a secret.
impl fmt::Debug for WebhookCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookCommand({})", self.name)
    }
}
