//! What somebody is to a queue.

use super::words::words;

words! {
    /// What a credential is for.
    pub enum Role {
        Worker = "worker",
        Producer = "producer",
        /// Reads whatever an operator reads, and changes nothing.
        Viewer = "viewer",
        Operator = "operator",
    }
}
