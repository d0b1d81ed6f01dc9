//! A call over several queues is answered by the servers that are well; the queues of the others are named.

use std::time::Duration;

use intray_redis::{Applied, Fault};

use super::{handle::Queues, redis::move_marker::is_moved};
use crate::job::QueueName;

/// For a node that is known to be away: it may just have come back, and nobody waits longer to see.
const RECHECK_TIMEOUT: Duration = Duration::from_millis(150);

/// What each of some queues said, and those that nobody could be asked about.
type PerQueue<T> = (Vec<(QueueName, T)>, Vec<(QueueName, Fault)>);

impl Queues {
    /// Asks of each queue at once, which changes nothing. Where there is one server, it answers for all or for none.
    ///
    /// # Errors
    /// When no server is well, or something else is wrong than that one is away.
    pub(crate) async fn ask_each<'q, T, F: Future<Output = Result<T, Fault>>>(
        &self,
        queues: impl Iterator<Item = (&'q QueueName, F)>,
    ) -> Result<PerQueue<T>, Fault> {
        let asked =
            queues.map(|(queue, ask)| async move { (queue.clone(), self.ask_with_short_timeout(queue, ask).await) });
        let (mut there, mut away) = (Vec::new(), Vec::new());
        for (queue, answer) in futures_util::future::join_all(asked).await {
            match answer {
                Ok(answer) => there.push((queue, answer)),
                Err(fault) if self.is_of_one_node(&fault) => away.push((queue, fault)),
                Err(fault) => return Err(fault),
            }
        }
        Ok((there, away))
    }

    async fn ask_with_short_timeout<T>(
        &self,
        queue: &QueueName,
        ask: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        if !self.is_lost(queue) {
            return ask.await;
        }
        tokio::time::timeout(RECHECK_TIMEOUT, ask).await.unwrap_or_else(|_| Err(Fault::late(Applied::No)))
    }

    /// A fault of one queue is one of all queues: what comes next would not fare better. Of several servers one may be away, or
    /// full, while others serve.
    pub async fn is_of_all(&self, fault: &Fault) -> bool {
        let runner = &self.parts.runner;
        is_moved(fault) || !runner.link.any_serves(&runner.keys.registry()).await
    }

    /// A node of several is away: that is no answer for the others.
    pub(crate) fn is_of_one_node(&self, fault: &Fault) -> bool {
        self.has_several_servers() && matches!(fault, Fault::Unavailable { .. })
    }
}
