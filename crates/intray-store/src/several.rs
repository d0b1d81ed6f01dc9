//! Calls over several queues: the available servers answer, and the queues of the others are named.

use std::time::Duration;

use intray_redis::{Applied, Fault};

use super::{handle::Queues, redis::move_marker::is_closed};
use crate::job::QueueName;

/// How long to try a node that is known to be away, in case it has just come back.
const RECHECK_TIMEOUT: Duration = Duration::from_millis(150);

/// The answers by queue, and the queues whose server is unavailable.
type PerQueue<T> = (Vec<(QueueName, T)>, Vec<(QueueName, Fault)>);

impl Queues {
    /// Sends a read to each queue at once. A single server answers for all of them or for none.
    ///
    /// # Errors
    /// When no server is available, or for any fault other than an unavailable node.
    pub async fn ask_each<'q, T, F: Future<Output = Result<T, Fault>>>(
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

    /// Whether the fault affects all queues. With several servers, one may be away or full while others serve.
    pub async fn is_of_all(&self, fault: &Fault) -> bool {
        let runner = &self.parts.runner;
        is_closed(fault) || !runner.link.any_serves(&runner.keys.registry()).await
    }

    /// Whether one node of several is unavailable, so that the others may still serve.
    pub(crate) fn is_of_one_node(&self, fault: &Fault) -> bool {
        self.has_several_servers() && matches!(fault, Fault::Unavailable { .. })
    }
}
