//! Reads requests: bodies, queries, paths and headers. Every mistake in a request is collected before it is refused.

pub mod body;
pub mod extract;
pub mod fields;
pub mod headers;
pub mod items;
pub mod json;
pub mod lines;
pub mod path;
pub mod query;
pub mod reader;
pub mod rules;
pub mod time;
