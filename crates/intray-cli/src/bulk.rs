//! `intray import` and `intray export`: transfer jobs between files and a running service.

mod bar;
mod calls;
mod export;
mod import;
mod options;
mod retry_budget;
mod silence;
mod table_options;
#[cfg(test)]
mod tests;

pub use self::{
    export::export,
    import::import,
    options::{ExportOptions, ImportOptions},
};
