//! What every request passes before its handler, and the access rules that handlers apply to a body.

pub mod audit;
pub mod auth;
pub mod body_budget;
pub mod client_ip;
pub mod origin;
pub mod policy;
pub mod revalidate;
pub mod stack;
