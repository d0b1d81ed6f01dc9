//! A row of the keyspace.

use intray::store::JobRoute;

pub use crate::world::records::*;

/// All that the keyspace holds of one job or stub. The model draws the same of what it thinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The sets that it is in, with its score in each.
    pub sets: Vec<(&'static str, u64)>,
    pub header: Header,
    /// What lives apart from the header.
    pub apart: Option<String>,
    pub live: Live,
    /// Field by field: the result, and what came too late by slot.
    pub results: Vec<(String, Vec<u8>)>,
    /// Whose, and what was typed.
    pub draft: Option<(String, String)>,
    pub route: JobRoute,
    /// The equal jobs of its batch; 0: it is no such job.
    pub overlap: u8,
    /// Where its reservation would end if it did not expire before, if it does.
    pub uncut: Option<u64>,
    /// When time next does something to it, as the sweep knows.
    pub alarm: Option<u64>,
}
