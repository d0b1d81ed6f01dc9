//! Function libraries in use. Each instance announces its own regularly; one that was not announced for a day is deleted. An
//! instance that misses its library loads it again.

use intray_redis::Fault;

use crate::{handle::Queues, script::ScriptLibrary};

const FORGOTTEN_MS: u64 = 86_400_000;

impl Queues {
    /// Announces the library of this program, and deletes unused ones.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn tidy_libraries(&self) -> Result<(), Fault> {
        let (now, libraries) = (self.redis_time().await?.0, self.parts.runner.keys.libraries());
        let announce =
            redis::cmd("ZADD").arg(&libraries).arg(now).arg(&self.parts.runner.scripts.library.name).to_owned();
        match self.parts.runner.link.plain(&announce).await {
            // Without its own announcement, this instance must not delete others.
            Err(Fault::Full(_)) => return Ok(()),
            announced => announced?,
        };
        let mut forgotten = redis::cmd("ZRANGEBYSCORE");
        forgotten.arg(&libraries).arg("-inf").arg(now.saturating_sub(FORGOTTEN_MS));
        let forgotten: Vec<String> = self.parts.runner.link.ask(&forgotten).await?;
        for name in forgotten {
            if self.is_gone(&name).await {
                self.parts.runner.link.plain(redis::cmd("ZREM").arg(&libraries).arg(&name)).await?;
            }
        }
        Ok(())
    }

    /// Deletes a library. False without the right to do so: a later program may have it.
    async fn is_gone(&self, name: &str) -> bool {
        if !ScriptLibrary::is_name(name) {
            return true;
        }
        let Ok(all) = self.parts.runner.link.all().await else { return false };
        let mut delete = redis::cmd("FUNCTION");
        delete.arg("DELETE").arg(name);
        let deleted = futures_util::future::join_all(all.iter().map(|link| link.plain(&delete))).await;
        // Any other error means that there is no such library.
        deleted.iter().all(|deleted| matches!(deleted, Ok(_) | Err(Fault::Broken(_))))
    }
}
