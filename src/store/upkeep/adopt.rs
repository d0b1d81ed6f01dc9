//! `--adopt` takes over the keys of an older design.

use intray_redis::Fault;
use redis::Value;

use super::migrate::LayoutError;
use crate::{
    job::{
        QueueName, State,
        ids::{Nonce, derived_id},
    },
    payload::Json,
    store::{
        handle::Queues,
        redis::read::broken,
        transitions::{
            enqueue::{Enqueued, NewJob},
            reserve::{Reserve, ReserveOutcome},
        },
    },
};

/// The counts of an adoption.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Adopted {
    pub waiting: u64,
    pub reserved: u64,
    /// Payloads equal to another job's except for white space or the order of keys.
    pub twins: u64,
}

/// The lease of the older design.
const OLD_LEASE_S: u64 = 300;
/// Members read and enqueued at a time.
const CHUNK: isize = 200;

impl Queues {
    /// Takes over `name` (inbound) and `name:reserved`: sorted sets with payloads as members and whole seconds as scores.
    /// Jobs keep their order by score; a member of both is one waiting job. It may be repeated after an interruption, because
    /// ids are derived from the members. At the end the old keys are renamed to `…:adopted`. On a cluster, the old keys and the
    /// queue may be on different nodes.
    ///
    /// # Errors
    /// [`LayoutError::Refused`] when the adoption is not possible, otherwise when Redis is not well.
    pub async fn adopt(&self, name: &str, queue: &QueueName, dry_run: bool) -> Result<Adopted, LayoutError> {
        let reserved_key = format!("{name}:reserved");
        self.can_adopt([name, &reserved_key], queue).await?;
        let mut adopted = Adopted::default();
        // Reserved jobs were first in line, so they are enqueued first.
        for (key, held) in [(reserved_key.as_str(), true), (name, false)] {
            let mut from = 0;
            loop {
                let members = self.members(key, from).await?;
                if members.is_empty() {
                    break;
                }
                from += CHUNK;
                for (member, score) in members {
                    if held && self.is_member(name, &member).await? {
                        continue;
                    }
                    self.adopt_one(queue, &member, held.then_some(score), dry_run, &mut adopted).await?;
                }
            }
        }
        if !dry_run {
            for key in [name, &reserved_key] {
                if self.key_type(key).await? == "zset" {
                    let mut rename = redis::cmd("RENAMENX");
                    rename.arg(key).arg(self.put_aside(key)?);
                    self.parts.runner.link.plain(&rename).await?;
                }
            }
        }
        Ok(adopted)
    }

    /// An adoption that was interrupted between its two renames may continue: one of the keys is missing then.
    async fn can_adopt(&self, keys: [&str; 2], queue: &QueueName) -> Result<(), LayoutError> {
        let refused = |line: String| Err(LayoutError::Refused(line));
        let mut found = false;
        for key in keys {
            match self.key_type(key).await?.as_str() {
                "none" => continue,
                "zset" => found = true,
                kind => return refused(format!("{key} is a {kind}, not a sorted set")),
            }
            let aside = self.put_aside(key)?;
            if self.key_type(&aside).await? != "none" {
                return refused(format!("{aside} is there from an earlier adoption: rename or remove it"));
            }
        }
        if !found {
            let [name, reserved] = keys;
            return refused(format!("there is neither {name} nor {reserved}: perhaps they were adopted before"));
        }
        if self.exists(queue).await? {
            if self.queue(queue).await?.is_some_and(|info| info.settings.paused) {
                return refused(format!("the queue {queue} is paused, so nothing in it can be held: unpause it"));
            }
            while self.sweep(queue).await?.more {}
        }
        Ok(())
    }

    /// The new name of an adopted key, which must be on the same server.
    fn put_aside(&self, key: &str) -> Result<String, LayoutError> {
        let link = &self.parts.runner.link;
        let names = [format!("{key}:adopted"), format!("{{{key}}}:adopted")];
        let here = names.into_iter().find(|name| link.share_a_slot(key, name));
        here.ok_or_else(|| LayoutError::Refused(format!("{key} cannot be put aside on its node: rename it first")))
    }

    async fn adopt_one(
        &self,
        queue: &QueueName,
        member: &[u8],
        held_since: Option<u64>,
        dry_run: bool,
        adopted: &mut Adopted,
    ) -> Result<(), Fault> {
        if dry_run {
            *(if held_since.is_some() { &mut adopted.reserved } else { &mut adopted.waiting }) += 1;
            return Ok(());
        }
        let id = derived_id(queue.clone(), &[b"adopt", member]);
        let job = NewJob::plain(id.clone(), payload_of(member)?);
        match self.enqueue(job).await? {
            Enqueued::Stored { state: State::Waiting | State::Reserved, .. } => {}
            // A job that was adopted before and has ended since also counts as a twin.
            Enqueued::Stored { .. } | Enqueued::Twin { .. } => {
                adopted.twins += 1;
                return Ok(());
            }
            Enqueued::KeyReused | Enqueued::QueueFull | Enqueued::TooManyQueues | Enqueued::Untimely(_) => {
                return Err(Fault::Full);
            }
        }
        let lease = match held_since {
            None => None,
            Some(since) => self.time_left(queue, (since + OLD_LEASE_S) * 1000).await?,
        };
        let Some(lease) = lease else {
            adopted.waiting += 1;
            return Ok(());
        };
        let call = Reserve {
            queues: vec![queue.clone()],
            worker: None,
            skills: Vec::new(),
            limit: 1,
            lease_ms: Some(lease),
            nonce: Nonce::derived(&[b"adopt", member]),
            id: Some(id),
        };
        if let ReserveOutcome::Jobs { undo, .. } = self.reserve(call).await? {
            undo.disarm();
            adopted.reserved += 1;
        } else {
            adopted.waiting += 1;
        }
        Ok(())
    }

    /// The rest of a lease by the clock of the queue's server; `None` if it is over.
    async fn time_left(&self, queue: &QueueName, until_ms: u64) -> Result<Option<u32>, Fault> {
        let left = until_ms.saturating_sub(self.time_at(&self.parts.runner.keys.of(queue, "jobs")).await?.0);
        Ok(u32::try_from(left).ok().filter(|left| *left > 0))
    }

    async fn key_type(&self, key: &str) -> Result<String, Fault> {
        self.parts.runner.link.ask(redis::cmd("TYPE").arg(key)).await
    }

    async fn is_member(&self, key: &str, member: &[u8]) -> Result<bool, Fault> {
        Ok(self.parts.runner.link.plain(redis::cmd("ZSCORE").arg(key).arg(member)).await? != Value::Nil)
    }

    async fn members(&self, key: &str, from: isize) -> Result<Vec<(Vec<u8>, u64)>, Fault> {
        let mut command = redis::cmd("ZRANGE");
        command.arg(key).arg(from).arg(from + CHUNK - 1).arg("WITHSCORES");
        let members: Vec<(Vec<u8>, f64)> = self.parts.runner.link.ask(&command).await?;
        Ok(members.into_iter().map(|(member, score)| (member, score.max(0.0) as u64)).collect())
    }
}

/// The payload: a JSON member is unchanged, any other member becomes a JSON string.
fn payload_of(member: &[u8]) -> Result<Json, Fault> {
    let text = String::from_utf8_lossy(member);
    if let Some(json) = Json::from_text(text.clone().into_owned()) {
        return Ok(json);
    }
    let quoted = serde_json::to_string(&text).map_err(|_| broken("text"))?;
    Json::from_text(quoted).ok_or_else(|| broken("JSON"))
}
