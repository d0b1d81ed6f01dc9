//! The layout of the data in Redis: records, fields of the history, settings, and cursors.

pub(crate) mod action;
pub(crate) mod batch;
pub(crate) mod cursor;
pub(crate) mod delivery;
pub(crate) mod eligibility;
pub(crate) mod ended;
pub(crate) mod history;
pub(crate) mod member;
pub(crate) mod moment;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod route;
pub(crate) mod routing;
pub(crate) mod settings;
pub(crate) mod sheet;
pub(crate) mod task;
