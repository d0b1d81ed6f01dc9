//! How Redis is spoken to: connections, arguments and answers. Nothing here knows what a job is.

pub(crate) mod address;
pub(crate) mod args;
mod cluster;
pub(crate) mod complaints;
pub(crate) mod hints;
pub(crate) mod link;
pub(crate) mod links;
pub(crate) mod login;
pub(crate) mod mark;
pub(crate) mod meter;
pub(crate) mod read;
pub(crate) mod sentinel;
pub(crate) mod server;
