//! How full Redis is, as `GET /redis` tells it.

use serde::Serialize;

use crate::store;

#[derive(Serialize)]
pub struct Redis {
    nodes: Vec<Node>,
}

#[derive(Serialize)]
struct Node {
    used_bytes: u64,
    max_bytes: Option<u64>,
    append_only: Option<bool>,
    last_write_ok: Option<bool>,
}

impl Redis {
    pub fn new(nodes: &[store::ServerMemory]) -> Self {
        let node = |node: &store::ServerMemory| Node {
            used_bytes: node.used_bytes,
            max_bytes: node.max_bytes,
            append_only: node.append_only,
            last_write_ok: node.last_write_ok,
        };
        Self { nodes: nodes.iter().map(node).collect() }
    }
}
