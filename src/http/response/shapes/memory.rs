//! The memory and persistence of each Redis node.

use serde::Serialize;

use crate::store;

#[derive(Serialize)]
pub struct RedisMemoryBody {
    nodes: Vec<NodeMemoryBody>,
}

#[derive(Serialize)]
struct NodeMemoryBody {
    used_bytes: u64,
    max_bytes: Option<u64>,
    append_only: Option<bool>,
    last_write_ok: Option<bool>,
}

impl RedisMemoryBody {
    pub fn new(nodes: &[store::ServerMemory]) -> Self {
        let node = |node: &store::ServerMemory| NodeMemoryBody {
            used_bytes: node.used_bytes,
            max_bytes: node.max_bytes,
            append_only: node.append_only,
            last_write_ok: node.last_write_ok,
        };
        Self { nodes: nodes.iter().map(node).collect() }
    }
}
