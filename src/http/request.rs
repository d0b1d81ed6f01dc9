//! Reads requests: bodies, queries, paths and headers. All errors of a request are reported together.

pub mod body;
pub mod fields;
pub mod headers;
pub mod items;
pub mod lines;
pub mod long_work;
pub mod path;
pub mod query;
pub mod reader;
pub mod rules;
pub mod time;
