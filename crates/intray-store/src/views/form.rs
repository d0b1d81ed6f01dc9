//! The form of a queue.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::QueueName,
    payload::Json,
    redis::read::Fields,
    sha256::{Sha256, hex},
};

/// The form that the results of a queue must fit.
#[derive(Debug, Clone)]
pub struct FormText {
    /// As it was set.
    pub text: Json,
    /// Its SHA-256 in hex.
    pub digest: String,
}

impl Queues {
    /// The form of a queue. `None`: it has none.
    ///
    /// # Errors
    /// When Redis is not well, or the text is not the one that the settings name: another program has moved the queue without it.
    pub async fn form(&self, queue: &QueueName) -> Result<Option<FormText>, Fault> {
        let answered = self.run_view("form", queue, &Args::default()).await?;
        let mut reply = Fields::of(&answered)?;
        let (digest, text) = (reply.text()?, reply.text()?);
        if digest.is_empty() {
            return Ok(None);
        }
        let is_named = hex(Sha256::digest(&text)) == digest;
        match Json::from_text(text).filter(|_| is_named) {
            Some(text) => Ok(Some(FormText { text, digest })),
            None => Err(Fault::unavailable(&"the form of the queue is not the one that was set: set it again")),
        }
    }
}
