//! What must not be forgotten: a server that writes to its disk once a second may lose that second with its power.

use std::time::Duration;

use intray_redis::Fault;
use redis::Value;

use crate::store::handle::Queues;

/// With `appendfsync everysec` it is on disk after one second, or after two where the disk is busy.
const ON_DISK: Duration = Duration::from_secs(2);

/// Whether any of the servers keeps a file.
pub(super) async fn is_kept(queues: &Queues) -> Result<bool, Fault> {
    for link in queues.parts.runner.link.all().await? {
        let info = match link.plain(redis::cmd("INFO").arg("persistence")).await? {
            Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Value::VerbatimString { text, .. } => text,
            _ => String::new(),
        };
        if info.lines().any(|line| line.trim_end() == "aof_enabled:1") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Until what was done is on disk.
pub(super) async fn written() {
    tokio::time::sleep(ON_DISK).await;
}
