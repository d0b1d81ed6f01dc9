//! The roles of a caller.

use super::words::words;

words! {
    /// What a credential allows.
    pub enum Role {
        Worker = "worker",
        /// A producer that makes no tokens, so that it cannot become a worker and answer its own question.
        Asker = "asker",
        Producer = "producer",
        /// Reads everything that an operator reads, and changes nothing.
        Viewer = "viewer",
        Operator = "operator",
    }
}
