//! The roles of a caller.

use super::words::words;

words! {
    /// What a credential allows.
    pub enum Role {
        Worker = "worker",
        Producer = "producer",
        /// Reads everything that an operator reads, and changes nothing.
        Viewer = "viewer",
        Operator = "operator",
    }
}
