//! Whether a call that takes the name of a worker out of a queue is not done.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Name, QueueName},
    redis::read::Fields,
};

impl Queues {
    /// Whether the queue is where such a call has stopped and the next one continues. `seen`: the queues that the caller may see.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn is_erasing(&self, queue: &QueueName, worker: &Name, seen: &str) -> Result<bool, Fault> {
        let mut args = Args::default();
        args.push(worker.as_str()).push(seen);
        Fields::of(&self.run_view("erasing", queue, &args).await?)?.flag()
    }
}
