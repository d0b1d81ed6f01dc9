//! Queues that an operator has made forgotten. An instance that has used one within the last minute still takes it for registered,
//! and may write to it: the keys that it makes are found, and the queue is registered again.

use std::time::{Duration, Instant};

use intray_redis::{Args, Fault, parse_reply};

use super::{REGISTER_EVERY, Registry};
use crate::job::QueueName;

/// How long such a queue is looked after: as long as any instance takes it for registered, and its calls run.
const LOOKED_AFTER: Duration = REGISTER_EVERY.saturating_mul(2);
/// Queues asked for their keys at the same time: few enough not to delay other calls.
const MAX_PIPELINED: usize = 64;

impl Registry {
    /// The score of a queue in the registry, which each registration raises; `None`: it is not registered.
    pub(crate) async fn last_seen(&self, queue: &QueueName) -> Result<Option<i64>, Fault> {
        self.check_available()?;
        let registry = self.runner.keys.registry();
        let score = self.runner.plain(redis::cmd("ZSCORE").arg(registry).arg(queue.as_str())).await?;
        Ok(parse_reply::<Option<f64>>(score)?.map(|score| score as i64))
    }

    /// Removes a queue that has no keys left, unless a call that has registered it since then is about to write its first one.
    pub(crate) async fn remove(&self, queue: &QueueName, seen: Option<i64>) -> Result<(), Fault> {
        self.forgotten.lock().insert(queue.clone(), Instant::now());
        self.registered.lock().remove(queue);
        self.known.lock().remove(queue);
        if let Some(seen) = seen {
            let mut args = Args::default();
            args.push("drop").push(queue.as_str()).push(seen.to_string());
            self.run_unseen(&args).await?;
        }
        Ok(())
    }

    /// The queues in use here, or forgotten here, that the registry lacks although they have keys. One without keys is not used again.
    pub(crate) async fn lost(&self, names: &[QueueName]) -> Vec<QueueName> {
        let (mut suspects, mut lost) = (self.in_use(), Vec::new());
        suspects.extend(self.lately_forgotten());
        suspects.retain(|queue| names.binary_search(queue).is_err());
        for some in suspects.chunks(MAX_PIPELINED) {
            let answers = futures_util::future::join_all(some.iter().map(|queue| self.has_keys(queue))).await;
            for (queue, has_keys) in some.iter().zip(answers) {
                // One whose node is away may have keys.
                if has_keys.unwrap_or(true) {
                    lost.push(queue.clone());
                } else {
                    self.registered.lock().remove(queue);
                }
            }
        }
        lost.sort();
        lost.dedup();
        lost
    }

    fn lately_forgotten(&self) -> Vec<QueueName> {
        let mut forgotten = self.forgotten.lock();
        forgotten.retain(|_, at| at.elapsed() < LOOKED_AFTER);
        forgotten.keys().cloned().collect()
    }
}
