//! The problem of a queue that is not removed.

use super::{Problem, ProblemType};
use crate::store::KeptFor;

impl Problem {
    pub fn queue_not_empty(why: KeptFor) -> Self {
        let detail = match why {
            KeptFor::Jobs => "the queue has jobs, perhaps ended ones that are kept: remove them with state=all first",
            KeptFor::Batches => "the queue has batches: they go when their retention is over",
            KeptFor::Settings => "the queue has settings",
            KeptFor::Deliveries => {
                "a webhook does not have everything from the queue yet: try again when its deliveries are made"
            }
        };
        Self::new(ProblemType::WrongState, detail)
    }
}
