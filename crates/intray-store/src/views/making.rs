//! The jobs of a batch in the making, which are invisible.

use std::collections::HashMap;

use intray_redis::{Args, Fault};

use crate::job::{Code, Millis, QueueName};
use crate::{handle::Queues, redis::read::Fields};

impl Queues {
    /// How many of its jobs waited in each line at a time, as far as `looks` suffice; none if the batch is no longer in the making.
    ///
    /// # Errors
    /// When Redis is not well.
    pub(super) async fn lines_in_the_making(
        &self,
        queue: &QueueName,
        batch: &Code,
        at: Millis,
        looks: &mut u32,
    ) -> Result<HashMap<String, u64>, Fault> {
        let (mut lines, mut next) = (HashMap::new(), Some(0));
        while let Some(index) = next.filter(|_| *looks > 0) {
            *looks -= 1;
            let mut args = Args::default();
            args.push(batch.as_str()).number(index).number(at.0);
            let answered = self.run_view("making", queue, &args).await?;
            let mut answer = Fields::of(&answered)?;
            next = answer.maybe()?;
            for line in answer.lists() {
                let mut line = line?;
                let name = line.text()?;
                *lines.entry(name).or_default() += line.count()?;
            }
        }
        Ok(lines)
    }
}
