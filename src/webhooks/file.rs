//! The webhooks file. All instances have the same; one without it sends nothing.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::line::Webhook;
use crate::{
    files::{self, Describe, Watched},
    job::limits,
};

/// The webhooks of the file, in its order.
pub type Webhooks = Arc<[Arc<Webhook>]>;

struct ParsedFile(Webhooks);

/// The file, read again when it changes. A cheap handle.
#[derive(Clone)]
pub struct WebhookFile {
    watched: Arc<Watched<ParsedFile>>,
    current: watch::Sender<Webhooks>,
}

impl WebhookFile {
    /// # Errors
    /// One line for the operator: which file is invalid, and where.
    pub fn open(path: PathBuf) -> Result<Self, String> {
        let watched = Watched::open(vec![path], |texts| ParsedFile::parse(&texts.concat()))?;
        let current = watch::Sender::new(watched.now().0.clone());
        Ok(Self { watched: Arc::new(watched), current })
    }

    /// The webhooks of now.
    pub fn current(&self) -> Webhooks {
        self.current.borrow().clone()
    }

    /// The webhooks of now, which also wakes who waits when they change.
    pub fn subscribe(&self) -> watch::Receiver<Webhooks> {
        self.current.subscribe()
    }

    /// Reads the file again when it has changed, until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        files::watch("webhooks", move || self.check(), stop).await;
    }

    /// Checks the file once, and returns the time until the next check.
    fn check(&self) -> Duration {
        let wait = self.watched.check();
        let now = self.watched.now().0.clone();
        self.current.send_if_modified(|before| {
            let is_new = !Arc::ptr_eq(before, &now);
            *before = now;
            is_new
        });
        wait
    }
}

impl ParsedFile {
    /// One webhook a line. Empty lines and lines that begin with `#` are ignored.
    fn parse(text: &str) -> Result<Self, String> {
        let mut webhooks: Vec<Arc<Webhook>> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let refused = |rule: &str| Err(format!("line {}: {rule}", index + 1));
            match Webhook::parse(line) {
                Err(rule) => return refused(&rule),
                Ok(webhook) if webhooks.iter().any(|other| other.name == webhook.name) => {
                    return refused("a webhook of this name is on an earlier line");
                }
                Ok(_) if webhooks.len() == limits::WEBHOOKS => {
                    return refused(&format!("there are more than {} webhooks", limits::WEBHOOKS));
                }
                Ok(webhook) => webhooks.push(Arc::new(webhook)),
            }
        }
        Ok(Self(webhooks.into()))
    }
}

impl Describe for ParsedFile {
    fn describe(&self) -> String {
        match self.0.len() {
            1 => "1 webhook".to_owned(),
            count => format!("{count} webhooks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn line(name: &str) -> String {
        format!("{name} https://hunter2.example/hunter2 * all {SECRET}\n")
    }

    fn names(webhooks: &Webhooks) -> Vec<&str> {
        webhooks.iter().map(|webhook| webhook.name.as_str()).collect()
    }

    #[test]
    fn file_has_a_webhook_a_line_in_its_order() {
        let parsed = ParsedFile::parse(&format!("# ours\n\n  {}{}# {}", line("b"), line("a"), line("c")));
        let parsed = parsed.expect("a file");
        assert_eq!((names(&parsed.0), parsed.describe()), (vec!["b", "a"], "2 webhooks".to_owned()));
        assert!(ParsedFile::parse("# none\n").expect("a file").0.is_empty());
    }

    #[test]
    fn invalid_line_is_named_by_number_and_rule_and_not_quoted() {
        let (first, url) = (line("b"), "https://shop.example/hunter2");
        for (line, rule) in [
            ("hunter2".to_owned(), "must be a name, a URL"),
            (format!("a {url} * all"), "must be a name, a URL"),
            (format!("a {url} * all plain"), "must be a name, a URL"),
            (format!("a {url} * all {SECRET} {SECRET} {SECRET}"), "2 secrets at most"),
            (format!("a {url} * all {SECRET} {SECRET} {SECRET} plain"), "2 secrets at most"),
            (format!("a {url} * all {SECRET} Plain"), "the secret must begin with whsec_"),
            (format!("a {url} * all {SECRET} hunter2"), "the secret must begin with whsec_"),
            (format!("a {url} * all whsec_hunter2!"), "the secret must be base64"),
            (format!("a {url} * all whsec_aHVudGVyMg=="), "the secret must be of 24 to 64 bytes"),
            (format!("hunter2! {url} * all {SECRET}"), "the name must be"),
            (format!("a {url} hunter2? all {SECRET}"), "the queue pattern must be"),
            (format!("a {url} * hunter2 {SECRET}"), "the types must be"),
            (format!("a {SECRET} * all {SECRET}"), "the URL must begin"),
            (format!("a https://u:hunter2@shop.example * all {SECRET}"), "the URL must not name a user"),
            (format!("a http://shop.example/hunter2 * all {SECRET}"), "the URL may be http://"),
            (format!("a ftp://shop.example/hunter2 * all {SECRET}"), "the URL must begin"),
            (line("b"), "of this name is on an earlier line"),
        ] {
            let text = format!("{first}# ours\n{line}\n");
            let message = ParsedFile::parse(&text).err().expect("a refusal");
            assert!(message.starts_with("line 3: ") && message.contains(rule), "{line}: {message}");
            assert!(!message.contains("hunter2") && !message.contains(SECRET), "{message}");
        }
    }

    #[test]
    fn file_has_a_hundred_webhooks_at_most() {
        let lines = |count: usize| (0..count).map(|nth| line(&format!("w{nth}"))).collect::<String>();
        assert_eq!(ParsedFile::parse(&lines(100)).expect("a file").0.len(), 100);
        let message = ParsedFile::parse(&lines(101)).err().expect("a refusal");
        assert_eq!(message, "line 101: there are more than 100 webhooks");
    }

    #[test]
    fn broken_or_deleted_file_changes_nothing_and_a_new_one_wakes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("webhooks");
        assert!(WebhookFile::open(path.clone()).err().expect("no file").contains("webhooks: "));
        fs::write(&path, line("a").repeat(2)).expect("written");
        let refusal = WebhookFile::open(path.clone()).err().expect("two of a name");
        assert!(refusal.contains("webhooks: line 2: a webhook of this name"), "{refusal}");
        fs::write(&path, line("a")).expect("written");
        let file = WebhookFile::open(path.clone()).expect("a file");
        let mut changes = file.subscribe();
        for (text, expected, is_new) in [
            (Some("broken".to_owned()), "a", false),
            (None, "a", false),
            (Some(line("b")), "b", true),
            (None, "b", false),
            (Some(line("b")), "b", true),
        ] {
            match &text {
                Some(text) => fs::write(&path, text).expect("written"),
                None => fs::remove_file(&path).expect("removed"),
            }
            file.check();
            file.check();
            assert_eq!(names(&file.current()), [expected], "{text:?}");
            assert_eq!(changes.has_changed().expect("a sender"), is_new, "{text:?}");
            assert_eq!(names(&changes.borrow_and_update().clone()), [expected]);
        }
    }
}
