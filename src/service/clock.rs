//! How far the clock of this machine is from Redis's. Leases and deadlines go by Redis's clock only, but signatures of webhooks,
//! tokens and the ends of keys go by this machine's.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::store::{Check, Queues};

/// A receiver refuses a signature that is five minutes off, so this leaves time to repair it.
const MAX_OFFSET: Duration = Duration::from_secs(5);
/// An answer that took longer says too little.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Compares the clocks; `None` if Redis did not answer soon.
pub async fn clock(queues: &Queues) -> Option<Check> {
    let before = SystemTime::now();
    let redis = UNIX_EPOCH + Duration::from_millis(queues.redis_time().await.ok()?.0);
    let took = before.elapsed().ok().filter(|took| *took < MAX_TIME)?;
    let here = before + took / 2;
    let (offset, sign, direction) = match here.duration_since(redis) {
        Ok(ahead) => (ahead, 1.0, "ahead of"),
        Err(earlier) => (earlier.duration(), -1.0, "behind"),
    };
    intray_metrics::CLOCK_OFFSET_SECONDS.of(&[]).set(sign * offset.as_secs_f64());
    let problem = format!(
        "the clock of this machine is {} s {direction} Redis's: receivers refuse webhooks that are signed with a wrong time, \
             and tokens and keys end at wrong times. Set both clocks by NTP",
        offset.as_secs()
    );
    Some(Check { name: "clock", problem: (offset > MAX_OFFSET).then_some(problem), is_warning: true })
}
