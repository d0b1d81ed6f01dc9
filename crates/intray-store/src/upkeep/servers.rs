//! The memory of each server, and whether it writes to disk.

use intray_redis::Fault;
use serde::Serialize;

use super::check::field;
use crate::handle::Queues;

/// Memory and persistence of one server.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ServerMemory {
    /// As counted for `maxmemory`: without the buffers of replicas and the append-only file.
    pub used_bytes: u64,
    /// `None`: there is no limit, or the server does not report it.
    pub max_bytes: Option<u64>,
    /// Whether there is an append-only file. `None`: the server does not report it.
    pub append_only: Option<bool>,
    /// Whether its last write succeeded. `None`: there is no such file, or the server does not report it.
    pub last_write_ok: Option<bool>,
}

impl Queues {
    /// The memory of each server that answers.
    ///
    /// # Errors
    /// When no server answers.
    pub async fn memory(&self) -> Result<Vec<ServerMemory>, Fault> {
        Ok(self.infos().await?.iter().map(|info| read(info)).collect())
    }
}

pub(super) fn read(info: &str) -> ServerMemory {
    let bytes = |name| field(info, name).parse::<u64>().ok();
    let append_only = match field(info, "aof_enabled") {
        "" => None,
        word => Some(word == "1"),
    };
    let status = field(info, "aof_last_write_status");
    ServerMemory {
        used_bytes: bytes("used_memory").unwrap_or(0).saturating_sub(bytes("mem_not_counted_for_evict").unwrap_or(0)),
        max_bytes: bytes("maxmemory").filter(|max| *max > 0),
        append_only,
        last_write_ok: (append_only == Some(true) && !status.is_empty()).then_some(status == "ok"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_parsed_from_info() {
        let full = "used_memory:950\r\nmem_not_counted_for_evict:50\r\nmaxmemory:1000\r\naof_enabled:1\r\naof_last_write_status:err\r\n";
        let expected = (900, Some(1_000), Some(true), Some(false));
        let stated = |info| {
            let ServerMemory { used_bytes, max_bytes, append_only, last_write_ok } = read(info);
            (used_bytes, max_bytes, append_only, last_write_ok)
        };
        assert_eq!(stated(full), expected);
        let without = "used_memory:900\r\nmaxmemory:0\r\naof_enabled:0\r\naof_last_write_status:ok\r\n";
        assert_eq!(stated(without), (900, None, Some(false), None));
        assert_eq!(stated("redis_version:7.2.0\r\n"), (0, None, None, None));
    }
}
