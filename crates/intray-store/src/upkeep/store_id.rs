//! Detects the loss of all data. The id of the data is created once, with the layout. If it is missing or different, Redis
//! was emptied or came back without its data, which is reported.

use std::time::Duration;

use intray_redis::{Fault, parse_reply};
use tokio_util::sync::CancellationToken;

use super::{
    migrate::{self, LayoutError, STEPS},
    restart::{DEFAULT_USER_REMEDY, RestartMarkers},
};
use crate::{
    handle::Queues,
    job::{Millis, ids},
    registry::store_id::Loss,
};

/// How often the id is checked.
const CHECK_EVERY: Duration = Duration::from_millis(500);

impl Queues {
    /// Creates the layout in an empty Redis; rejects any other version.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub async fn settle_layout(&self) -> Result<(), LayoutError> {
        migrate::expect_current(self).await?;
        self.migrate(&STEPS, false).await?;
        self.learn_store_id().await?;
        RestartMarkers::default().check(self).await;
        self.parts.runner.link.try_library().await;
        Ok(())
    }

    /// Checks regularly whether Redis still has its data, until it is stopped.
    pub(crate) async fn watch_store_id(&self, stop: CancellationToken) {
        let mut markers = RestartMarkers::default();
        loop {
            // A failed check is repeated. Other checks report the fault.
            let _ = self.check_store_id().await;
            if self.parts.store_id.current().is_some() {
                markers.check(self).await;
            }
            if stop.run_until_cancelled(tokio::time::sleep(CHECK_EVERY)).await.is_none() {
                return;
            }
        }
    }

    /// Creates the id before the layout. A layout without an id is from an older program. Nothing is written if there is an id,
    /// so that a start needs no free memory.
    pub(crate) async fn create_store_id(&self) -> Result<(), Fault> {
        if self.store_id().await?.is_some() {
            return Ok(());
        }
        let mut command = redis::cmd("SET");
        command.arg(self.parts.runner.keys.store_id()).arg(ids::random_code().as_str()).arg("NX");
        self.parts.runner.link.plain(&command).await.map(drop)
    }

    pub(crate) async fn learn_store_id(&self) -> Result<(), Fault> {
        self.parts.store_id.learn(self.store_id().await?);
        Ok(())
    }

    pub(super) async fn store_id(&self) -> Result<Option<Vec<u8>>, Fault> {
        self.parts.runner.link.ask(redis::cmd("GET").arg(self.parts.runner.keys.store_id())).await
    }

    async fn check_store_id(&self) -> Result<(), LayoutError> {
        let found = self.store_id().await?;
        let known = self.parts.store_id.current();
        if known.is_none() || found == known {
            return Ok(());
        }
        let is_laid_out = self.layout_version().await? > 0;
        // Another instance may just have restored an empty Redis; it writes the id before the layout, so the id is read again.
        let found = if is_laid_out { self.store_id().await? } else { found };
        if found == known {
            return Ok(());
        }
        self.restore_after_loss().await?;
        if found.is_some() || !is_laid_out {
            tracing::warn!("Redis came back empty: all queues, jobs and results that were in it are gone");
            self.record_loss(Loss::Everything).await?;
        }
        Ok(())
    }

    /// Restores the layout, and registers the queues in use here.
    pub(super) async fn restore_after_loss(&self) -> Result<(), LayoutError> {
        self.migrate(&STEPS, false).await?;
        self.parts.registry.reregister_in_use().await?;
        self.learn_store_id().await?;
        Ok(())
    }

    pub(super) async fn record_loss(&self, loss: Loss) -> Result<(), Fault> {
        let now = self.redis_time().await?;
        intray_metrics::REDIS_EMPTIED_TOTAL.of(&[]).inc();
        self.parts.store_id.record_loss(now, loss);
        Ok(())
    }

    /// A sentence about the loss, as long as this instance runs.
    pub(crate) fn emptied(&self) -> Option<String> {
        let (at, loss) = self.parts.store_id.last_loss()?;
        let at = i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())?;
        Some(match loss {
            Loss::Everything => format!("Redis came back empty at {at:.3}: what was in it before is gone"),
            Loss::ScriptChanges => {
                format!("Redis came back without what scripts had changed, found at {at:.3}: {DEFAULT_USER_REMEDY}")
            }
        })
    }

    /// The clock of the server that has the id, because each server of a cluster has its own clock.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn redis_time(&self) -> Result<Millis, Fault> {
        self.time_at(&self.parts.runner.keys.store_id()).await
    }

    /// The clock of the server that has a key.
    pub(crate) async fn time_at(&self, key: &str) -> Result<Millis, Fault> {
        let (seconds, micros): (u64, u64) =
            parse_reply(self.parts.runner.link.plain_at(key, &redis::cmd("TIME")).await?)?;
        Ok(Millis(seconds * 1_000 + micros / 1_000))
    }
}
