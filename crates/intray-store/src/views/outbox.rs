//! The states of the webhooks in a queue.

use std::time::Duration;

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Millis, Name, QueueName},
    layout::delivery::DeliveryId,
    redis::read::{Fields, broken},
};

/// A webhook in a queue.
#[derive(Debug, Clone)]
pub struct OutboxState {
    pub webhook: Name,
    /// Up to where it has read the events.
    pub cursor: String,
    /// Transitions that it could not read before they were deleted.
    pub lost: u64,
    pub waiting: u64,
    pub failed: u64,
    /// Until the next delivery is due.
    pub next: Option<Duration>,
    /// There are failed deliveries that are not kept any longer: a collection removes them.
    pub has_old: bool,
    /// How old the event of the oldest delivery is, of those that are due first.
    pub oldest: Option<Duration>,
}

impl Queues {
    /// The webhooks that have read events of this queue.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn outbox(&self, queue: &QueueName) -> Result<Vec<OutboxState>, Fault> {
        let (mut states, mut after) = (Vec::new(), None::<u64>);
        loop {
            let mut args = Args::default();
            args.push(after.map_or_else(|| "-1".to_owned(), |slot| slot.to_string()));
            let answered = self.run_view("outbox", queue, &args).await?;
            let mut fields = Fields::of(&answered)?;
            let now = fields.time()?;
            after = fields.maybe()?;
            for webhook in fields.lists() {
                states.push(read_state(webhook?, now)?);
            }
            if after.is_none() {
                return Ok(states);
            }
        }
    }
}

fn read_state(mut fields: Fields<'_>, now: Millis) -> Result<OutboxState, Fault> {
    let webhook = Name::parse(&fields.text()?).map_err(|_| broken("a webhook"))?;
    let (cursor, lost) = (fields.text()?, fields.count()?);
    let (waiting, failed) = (fields.count()?, fields.count()?);
    let next = fields.maybe()?.map(Duration::from_millis);
    let has_old = fields.flag()?;
    let oldest = fields.clone().word().is_ok_and(|id| !id.is_empty()).then(|| fields.code()).transpose()?;
    let oldest = oldest.map(|code| Duration::from_millis(now.since(DeliveryId::of_code(code).at())));
    Ok(OutboxState { webhook, cursor, lost, waiting, failed, next, has_old, oldest })
}
