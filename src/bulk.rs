//! `intray import` and `intray export`: files and a running service.

mod bar;
mod calls;
mod export;
mod import;
mod patience;

pub use self::{export::export, import::import};
