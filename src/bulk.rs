//! `intray import` and `intray export`: files and a running service.

mod bar;
mod export;
mod import;
mod patience;
mod service;

pub use self::{export::export, import::import};
