//! The form of a queue.

use intray_redis::{Args, Fault};

use crate::{
    handle::{FORM_LOST, Queues},
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
        let form = self.form_after(queue, "").await?;
        Ok(form.and_then(|(digest, text)| Some(FormText { text: text?, digest })))
    }

    /// The digest of the form, and its text unless that is the digest that the caller knows.
    pub(crate) async fn form_after(
        &self,
        queue: &QueueName,
        known: &str,
    ) -> Result<Option<(String, Option<Json>)>, Fault> {
        let mut args = Args::default();
        args.push(known);
        let answered = self.run_view("form", queue, &args).await?;
        let mut reply = Fields::of(&answered)?;
        let (digest, text) = (reply.text()?, reply.text()?);
        if digest.is_empty() {
            return Ok(None);
        } else if digest == known {
            return Ok(Some((digest, None)));
        }
        let is_named = hex(Sha256::digest(&text)) == digest;
        match Json::from_text(text).filter(|_| is_named) {
            Some(text) => Ok(Some((digest, Some(text)))),
            None => Err(self.unread_form(queue, FORM_LOST)),
        }
    }
}
