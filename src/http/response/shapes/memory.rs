//! The memory and persistence of each Redis node.

use serde::Serialize;

use crate::store;

#[derive(Serialize)]
pub struct RedisMemoryBody {
    pub nodes: Vec<store::ServerMemory>,
}
