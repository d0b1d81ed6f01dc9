//! How a reservation ends.

use super::words::words;

words! {
    /// How one reservation ended.
    pub enum Ending {
        Expired = "expired",
        Abandoned = "abandoned",
        Failed = "failed",
        Released = "released",
        Cancelled = "cancelled",
        Completed = "completed",
        /// It is none of the reservations that the job remembers, or the job is gone.
        Unknown = "unknown",
    }
}
