//! Checks of Redis, migrations of the layout, and maintenance.

pub(crate) mod check;
mod default_user;
mod durable;
pub(crate) mod health;
pub(crate) mod libraries;
mod memory;
pub(crate) mod migrate;
pub(crate) mod moving;
mod restart;
pub(crate) mod rights;
pub(crate) mod servers;
pub(crate) mod slots;
pub(crate) mod store_id;
