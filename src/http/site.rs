//! Pages, packages, probes and metrics: what is served next to the queue.

pub mod assets;
pub mod desk;
pub mod docs;
pub mod generated;
pub mod health;
pub mod metrics;
mod modules;
pub mod packages;
mod policy;
