//! A line of the webhooks file.

use intray_webhook::{Target, WebhookSecret};

use super::types::Types;
use crate::{
    access::{KeyName, Pattern},
    job::Name,
};

/// The word at the end of a line whose URL may be http:// on another machine.
const PLAIN: &str = "plain";
/// A secret, and the one that it replaces.
const MAX_SECRETS: usize = 2;
const FORM: &str = "must be a name, a URL, a queue pattern, types and a secret, followed by an older secret or none; \
                    it may end with plain";

/// A receiver, and what it subscribes to. `Debug` shows neither its secrets nor more of its URL than the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its rule is that of the name of a key.
    pub name: Name,
    pub target: Target,
    pub pattern: Pattern,
    pub types: Types,
    /// One, or two while one replaces the other. Each of them signs.
    pub secrets: Vec<WebhookSecret>,
}

impl Webhook {
    /// `<name> <url> <queue pattern> <types> <secret> [<older secret>] [plain]`.
    ///
    /// # Errors
    /// The rule that the line breaks. It never quotes the line, which holds secrets.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        Self::of_words(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// What an instance reports about a webhook that it serves: its name, and the pattern of its queues.
    pub(super) fn named(&self) -> (&Name, &str) {
        (&self.name, self.pattern.as_str())
    }

    fn of_words(words: &[&str]) -> Result<Self, String> {
        let (is_plain, words) = match words.split_last() {
            Some((&PLAIN, words)) => (true, words),
            Some(_) | None => (false, words),
        };
        let [name, url, pattern, types, secrets @ ..] = words else { return Err(FORM.to_owned()) };
        if secrets.is_empty() {
            return Err(FORM.to_owned());
        }
        if secrets.len() > MAX_SECRETS {
            return Err(format!("must have {MAX_SECRETS} secrets at most; {FORM}"));
        }
        let is_valid = name.parse::<KeyName>().and_then(|_| Name::parse(name));
        let name = is_valid.map_err(|rule| format!("the name {rule}"))?;
        let target = Target::parse(url, is_plain).map_err(|rule| format!("the URL {rule}"))?;
        let pattern = Pattern::parse(pattern).map_err(|rule| format!("the queue pattern {rule}"))?;
        let types = Types::parse(types).map_err(|rule| format!("the types {rule}"))?;
        let secrets: Result<_, _> = secrets.iter().map(|text| WebhookSecret::parse(text)).collect();
        let secrets = secrets.map_err(|rule| format!("the secret {rule}"))?;
        Ok(Self { name, target, pattern, types, secrets })
    }
}

/// What an operator says of a new webhook.
#[derive(Clone, Copy)]
pub struct NewWebhook<'a> {
    pub name: &'a str,
    pub url: &'a str,
    pub pattern: &'a str,
    pub types: &'a str,
    pub is_plain: bool,
}

impl NewWebhook<'_> {
    /// Its line for the file, with a new secret.
    ///
    /// # Errors
    /// The rule that the file would refuse the line for.
    pub fn line(self) -> Result<String, String> {
        let secret = WebhookSecret::random().expose();
        let mut words = vec![self.name, self.url, self.pattern, self.types, &secret];
        words.extend(self.is_plain.then_some(PLAIN));
        Webhook::of_words(&words)?;
        Ok(words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{EventKind, QueueName};

    fn secret() -> String {
        WebhookSecret::random().expose()
    }

    #[test]
    fn line_names_its_receiver_queues_types_and_secrets() {
        let (new, old) = (secret(), secret());
        let line = format!("shop\thttps://shop.example/x?y=z reviews* completed,dead  {new} {old}");
        let webhook = Webhook::parse(&line).expect("a line");
        assert_eq!((webhook.name.as_str(), webhook.target.host()), ("shop", "shop.example"));
        let queue = |text| QueueName::parse(text).expect("a queue");
        assert!(webhook.pattern.matches(&queue("reviews-de")) && !webhook.pattern.matches(&queue("other")));
        assert!(webhook.types.wants(EventKind::Dead) && !webhook.types.wants(EventKind::BatchCompleted));
        assert_eq!(webhook.secrets.iter().map(WebhookSecret::expose).collect::<Vec<_>>(), [new.clone(), old.clone()]);
        let shown = format!("{webhook:?}");
        assert!(!["x?y", &new, &old].iter().any(|hidden| shown.contains(*hidden)), "{shown}");
        assert_eq!(Webhook::parse(&format!("{line} plain")), Ok(webhook));
    }

    #[test]
    fn new_line_is_one_that_the_file_accepts() {
        let new = NewWebhook { name: "shop", url: "http://10.0.0.7/x", pattern: "*", types: "all", is_plain: true };
        let (line, other) = (new.line().expect("a line"), new.line().expect("a line"));
        assert!(line.starts_with("shop http://10.0.0.7/x * all whsec_") && line.ends_with(" plain"), "{line}");
        assert_ne!(line, other);
        assert_eq!(Webhook::parse(&line).expect("a line").secrets.len(), 1);
        for wrong in [
            NewWebhook { is_plain: false, ..new },
            NewWebhook { name: "a b", ..new },
            NewWebhook { name: "#", ..new },
            NewWebhook { url: "http://10.0.0.7/x y", ..new },
            NewWebhook { pattern: "", ..new },
            NewWebhook { types: "completed dead", ..new },
        ] {
            assert!(wrong.line().is_err());
        }
    }
}
