//! Which jobs an operator means: the same words wherever some of a state are shown or changed, in a query or in a body.

use crate::{
    http::request::{fields::Fields, query::Query, rules, time},
    job::{BatchId, Invalid, Name, QueueName},
    store::JobSelection,
};

/// Where such words stand.
pub trait Words {
    /// The value of one, if it is there and keeps the rule.
    fn word<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, Invalid>) -> Option<T>;
}

impl Words for Query {
    fn word<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, Invalid>) -> Option<T> {
        self.take(name, parse)
    }
}

impl Words for Fields<'_> {
    fn word<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, Invalid>) -> Option<T> {
        self.take(name, rules::parsed(parse))
    }
}

pub fn meant(words: &mut impl Words, queue: &QueueName) -> JobSelection {
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
