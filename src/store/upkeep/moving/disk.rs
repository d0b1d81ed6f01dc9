//! Waits for the disk: a server that syncs its file once a second may lose the last second in a power cut.

use std::time::Duration;

use intray_redis::Fault;

use crate::store::{
    handle::Queues,
    upkeep::{check::field, health::info},
};

/// With `appendfsync everysec`, a write is on disk after one second, or after two if the disk is busy.
const ON_DISK: Duration = Duration::from_secs(2);

/// Whether any of the servers has an append-only file.
pub(super) async fn is_kept(queues: &Queues) -> Result<bool, Fault> {
    for link in queues.parts.runner.link.all().await? {
        if field(&info(&link).await?, "aof_enabled") == "1" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits until earlier writes are on disk.
pub(super) async fn written() {
    tokio::time::sleep(ON_DISK).await;
}
