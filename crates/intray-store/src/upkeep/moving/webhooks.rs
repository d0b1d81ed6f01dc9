//! The webhooks of the source become known at the target, since they were known first.

use std::collections::HashMap;

use super::{Moving, halt::Halt};
use crate::{handle::Queues, redis::read::Fields};
use intray_redis::Fault;

impl Moving<'_> {
    /// Brings what the target does not have. It may be called again.
    pub(super) async fn bring_webhooks(&self) -> Result<(), Halt> {
        let here = fields(self.source.queues).await.map_err(Halt::Source)?;
        let there = fields(self.target.queues).await.map_err(Halt::Target)?;
        let mut command = redis::cmd("HSET");
        command.arg(self.target.queues.parts.runner.keys.webhooks());
        let mut count = 0;
        for (field, value) in here {
            // A name has a later time at the target if an instance there was started before the move.
            if there.get(&field).is_none_or(|known| !field.contains(' ') && since(&value) < since(known)) {
                command.arg(field).arg(value);
                count += 1;
            }
        }
        if count > 0 {
            self.target.queues.parts.runner.plain(&command).await.map_err(Halt::Target)?;
        }
        Ok(())
    }
}

/// Names with their times; a name and a blank begin a field that says more of it.
async fn fields(queues: &Queues) -> Result<HashMap<String, String>, Fault> {
    let runner = &queues.parts.runner;
    let answered = runner.link.plain(redis::cmd("HGETALL").arg(runner.keys.webhooks())).await?;
    Ok(Fields::of(&answered)?.pairs()?.into_iter().collect())
}

fn since(times: &str) -> Option<u64> {
    times.split(' ').next()?.parse().ok()
}
