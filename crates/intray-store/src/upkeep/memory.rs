//! Whether the servers have enough memory for ended jobs.

use intray_redis::Fault;

use crate::job::{limits, settings::DEFAULT};
use crate::{
    handle::Queues,
    retention::MemoryChange,
    upkeep::{health::info, servers},
};

impl Queues {
    /// Reads the memory ratio of each server. Logs when a shortage begins or ends.
    ///
    /// # Errors
    /// When no server answers.
    pub async fn refresh_memory(&self) -> Result<(), Fault> {
        let runner = &self.parts.runner;
        let links = runner.link.all().await?;
        let asked = links.iter().map(|link| async move { info(link).await.ok().and_then(|info| ratio(&info)) });
        let ratios = futures_util::future::join_all(asked).await;
        for (shard, change) in runner.retention.note(&ratios) {
            let (server, used) = (links[shard].name(), ratios[shard].map(|ratio| (ratio * 100.0).floor()));
            let used = used.unwrap_or_default();
            match change {
                MemoryChange::Short => tracing::warn!(
                    server,
                    "Redis uses {used} % of its maxmemory: queues without a retention_ms of their own forget ended jobs early, \
                     the oldest first, but none of the last {}",
                    span(limits::SHORT_RETENTION_MS)
                ),
                MemoryChange::Enough => tracing::info!(
                    server,
                    "Redis uses {used} % of its maxmemory: ended jobs are kept for {} again",
                    span(DEFAULT.retention_ms)
                ),
            }
        }
        self.show_retention();
        Ok(())
    }

    /// Ends a sweep round. Returns the shards in which more jobs may be removed now.
    pub fn end_round(&self, was_wanted: bool, forgot_in: impl Fn(u16) -> bool) -> Vec<u16> {
        let tightened = self.parts.runner.retention.end_round(was_wanted, forgot_in);
        self.show_retention();
        tightened
    }

    /// Resolves when a full Redis has refused a call.
    pub async fn room_is_wanted(&self) {
        self.parts.runner.retention.wanted().await;
    }

    /// Whether calls wait for memory.
    pub fn is_room_wanted(&self) -> bool {
        self.parts.runner.retention.is_wanted()
    }

    /// The memory ratio of the fullest server; 0 if unknown.
    pub fn memory_in_use(&self) -> f64 {
        self.parts.runner.retention.worst().1.unwrap_or_default()
    }

    /// Whether ended jobs are removed earlier than by default.
    pub fn is_memory_short(&self) -> bool {
        self.parts.runner.retention.is_short()
    }

    fn show_retention(&self) {
        let (kept_ms, ratio) = self.parts.runner.retention.worst();
        intray_metrics::DEFAULT_RETENTION_SECONDS.of(&[]).set(f64::from(kept_ms) / 1e3);
        intray_metrics::REDIS_MEMORY_RATIO.of(&[]).set(ratio.unwrap_or(f64::NAN));
    }
}

fn ratio(info: &str) -> Option<f64> {
    let memory = servers::read(info);
    memory.max_bytes.map(|max| memory.used_bytes as f64 / max as f64)
}

fn span(ms: u32) -> String {
    match ms / 3_600_000 {
        1 => "hour".to_owned(),
        hours => format!("{} days", hours / 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_ratio_counts_what_maxmemory_counts() {
        let info = "used_memory:900\r\nmaxmemory:1000\r\nmem_not_counted_for_evict:200\r\n";
        assert_eq!(ratio(info), Some(0.7));
        assert_eq!(ratio("used_memory:900\r\nmaxmemory:1000\r\n"), Some(0.9));
        assert_eq!(ratio("used_memory:900\r\nmaxmemory:0\r\n"), None);
        assert_eq!(ratio("used_memory:900\r\n"), None);
    }
}
