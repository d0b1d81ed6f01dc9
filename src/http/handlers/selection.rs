//! Selects jobs of a state: the same fields in a query and in a body.

use crate::{
    http::request::{fields::JsonFields, query::Query, rules, time},
    job::{BatchId, Invalid, Name, QueueName},
    store::JobSelection,
};

/// A query or a body.
pub trait SelectionSource {
    /// The value of a field if it is present and valid.
    fn word<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, Invalid>) -> Option<T>;
}

impl SelectionSource for Query {
    fn word<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, Invalid>) -> Option<T> {
        self.take(name, parse)
    }
}

impl SelectionSource for JsonFields<'_> {
    fn word<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, Invalid>) -> Option<T> {
        self.take(name, rules::parsed(parse))
    }
}

pub fn read_selection(words: &mut impl SelectionSource, queue: &QueueName) -> JobSelection {
    JobSelection {
        client: words.word("client", Name::parse),
        batch: words.word("batch", |id| batch_of(queue, id)),
        error: words.word("error", rules::error_part),
        enqueued_before: words.word("enqueued_before", time::of_text),
    }
}

fn batch_of(queue: &QueueName, id: &str) -> Result<BatchId, Invalid> {
    BatchId::parse(id).and_then(|id| if id.queue == *queue { Ok(id) } else { Err(Invalid("must be of this queue")) })
}
