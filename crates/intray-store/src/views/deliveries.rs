//! The deliveries of a webhook.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{DeliveryState, Millis, Name, QueueName},
    layout::{
        cursor::Cursor,
        delivery::{DeliveryHead, DeliveryId},
    },
    redis::read::Fields,
};

#[derive(Debug)]
pub struct Delivery {
    pub id: DeliveryId,
    /// When it is next tried, or when it failed.
    pub at: Millis,
    pub head: DeliveryHead,
}

#[derive(Debug)]
pub struct DeliveryPage {
    pub deliveries: Vec<Delivery>,
    pub next: Option<Cursor>,
}

impl Queues {
    /// A page of deliveries, by when they are next tried or when they failed.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn deliveries(
        &self,
        queue: &QueueName,
        webhook: &Name,
        state: DeliveryState,
        after: Option<&Cursor>,
        limit: u32,
    ) -> Result<DeliveryPage, Fault> {
        let (score, id) = after.and_then(Cursor::place).unwrap_or_default();
        let mut args = Args::default();
        args.push(webhook.as_str()).push(state.word()).number(limit.into()).push(score).push(id);
        let answered = self.run_view("deliveries", queue, &args).await?;
        let mut fields = Fields::of(&answered)?;
        let last = fields.text()?;
        let deliveries: Vec<_> = fields.lists().map(|delivery| read(delivery?)).collect::<Result<_, Fault>>()?;
        let next = deliveries.last().and_then(|delivery| Cursor::after(&last, delivery.id.code().as_bytes()));
        Ok(DeliveryPage { deliveries, next })
    }
}

fn read(mut fields: Fields<'_>) -> Result<Delivery, Fault> {
    let (id, at) = (DeliveryId::of_code(fields.code()?), fields.time()?);
    Ok(Delivery { id, at, head: DeliveryHead::parse(fields.word()?)? })
}
