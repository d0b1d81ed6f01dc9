//! The scripts as `intray-redis` calls them.

use intray_redis::{Args, SourceText};
use redis::Value;

use super::{Scripts, Standalone, StoreScript};

/// The script that hands out jobs.
const RESERVE: &str = "reserve";

impl Scripts {
    /// The library for Redis; its probe reads a queue that never exists.
    pub(crate) fn for_redis(&self, trial_key: &str) -> intray_redis::Library {
        let probe = self.named("due", false);
        let mut keys = Args::default();
        probe.keys.iter().for_each(|_| _ = keys.push(trial_key));
        intray_redis::Library::new(self.library.text.code.clone(), &probe.function, &keys)
    }
}

impl intray_redis::Script for StoreScript {
    fn function(&self) -> &str {
        &self.function
    }

    fn source(&self) -> SourceText<'_> {
        let Standalone { text, sha } = self.standalone();
        SourceText { code: &text.code, sha }
    }

    fn writes(&self) -> bool {
        self.writes
    }

    fn grows(&self) -> bool {
        self.grows
    }

    /// A reserve without a job answers one bare word per item. What it may have written then was given to no caller.
    fn gives_nothing(&self, reply: &Value) -> bool {
        let is_bare = |item: &Value| match item {
            Value::BulkString(word) => !word.contains(&b' '),
            Value::Array(words) => words.len() == 1,
            _ => false,
        };
        // The first element is common to all items.
        self.name == RESERVE && matches!(reply, Value::Array(parts) if parts.iter().skip(1).all(is_bare))
    }

    fn explain(&self, message: &str) -> String {
        let text = if message.contains("user_function:") { &self.library.text } else { &self.standalone().text };
        text.explain(message)
    }
}
