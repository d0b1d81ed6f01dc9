//! forward: events of a queue become deliveries to a webhook, and its cursor moves past them.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Name, QueueName},
    layout::delivery::{DeliveryHead, DeliveryId},
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// Events of a queue that a webhook is for.
#[derive(Debug, Default)]
pub struct Forward {
    /// The webhook's cursor as it was read; `None` before the first call.
    pub read: Option<String>,
    /// Its new cursor.
    pub reached: String,
    pub deliveries: Vec<(DeliveryId, DeliveryHead, Vec<u8>)>,
}

/// What became of events that were forwarded.
#[derive(Debug, PartialEq, Eq)]
pub enum Forwarded {
    Done,
    /// Another instance has moved the cursor, to this place: nothing was written.
    Moved(Option<String>),
    /// Too many deliveries wait: nothing was written.
    Full,
}

struct ForwardTo<'f>(&'f Name, &'f Forward);

impl Queues {
    /// Makes deliveries of events, unless another instance has done so meanwhile.
    ///
    /// # Errors
    /// When Redis is not well, or has no memory for more.
    pub async fn forward(&self, queue: &QueueName, webhook: &Name, forward: &Forward) -> Result<Forwarded, Fault> {
        self.run_alone(queue, &ForwardTo(webhook, forward)).await
    }
}

impl Transition for ForwardTo<'_> {
    type Outcome = Forwarded;
    const SCRIPT: &'static str = "forward";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let Self(webhook, Forward { read, reached, deliveries }) = self;
        let mut args = Args::default();
        args.push(webhook.as_str()).push(read.as_deref().unwrap_or_default()).push(reached);
        for (id, head, body) in deliveries {
            args.push(id.code().as_bytes()).push(head.to_string()).push(body);
        }
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Forwarded, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "forwarded" => Ok(Forwarded::Done),
            "moved" => Ok(Forwarded::Moved(Some(fields.text()?).filter(|cursor| !cursor.is_empty()))),
            "full" => Ok(Forwarded::Full),
            _ => Err(broken("forwarded, moved or full")),
        }
    }

    fn effect(&self, _: &Forwarded) -> Effect {
        Effect::None
    }
}
