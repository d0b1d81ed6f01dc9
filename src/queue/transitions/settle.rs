//! extend, complete, abandon, fail: what the holder of a reservation says about the job.

use std::{collections::BTreeMap, future::Future};

use redis::Value;
use tokio::time::Instant;

use crate::queue::{
    Fault, Queues, chance, ids,
    lanes::{self, Answer, Item, Op},
    meter,
    redis::link::Args,
    redis::read::{Fields, broken},
};
use crate::{
    job::{Ending, Millis, QueueName, Reservation, State, limits},
    payload::Json,
};

/// The holder goes on working.
#[derive(Debug, Clone)]
pub struct Extend {
    pub reservation: Reservation,
    /// From now on; absent: as long as the reservation was given.
    pub lease_ms: Option<u32>,
    /// What was typed so far; JSON's null takes it away.
    pub draft: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    Extended { deadline: Millis, now: Millis },
    Lost(Lost),
}

/// The holder reports success.
#[derive(Debug, Clone)]
pub struct Complete {
    pub reservation: Reservation,
    pub result: Option<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// `late`: after the deadline, while nobody had taken the job. `duplicate`: the same call again, counted once.
    Done { late: bool, duplicate: bool },
    /// The result, if this was ever a reservation of the job, is kept among its late results.
    Lost(Lost),
}

/// The holder gives the job back.
#[derive(Debug, Clone)]
pub struct Abandon {
    pub reservation: Reservation,
    pub reason: Option<String>,
    pub delay_ms: Option<u32>,
    /// It is not offered to this worker again.
    pub skip: bool,
    /// Not now, but when the holder has not come back for so long.
    pub grace_ms: Option<u32>,
    /// Only if the holder has not come back more often than this.
    pub resumes: Option<u32>,
    /// What was typed so far; JSON's null takes it away.
    pub draft: Option<Json>,
}

/// The holder reports failure.
#[derive(Debug, Clone)]
pub struct Fail {
    pub reservation: Reservation,
    pub error: Option<String>,
}

/// What became of a job that was given back, by abandon or fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// `duplicate`: the same call ended the reservation before, and this one changed nothing.
    Returned {
        state: State,
        duplicate: bool,
    },
    /// The reservation goes on: for its grace, or because its holder has come back since.
    Stays,
    /// Nobody has a name, so nobody can be remembered to have skipped it.
    NobodySkips,
    Lost(Lost),
}

/// The reservation is no longer the job's: nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// How this very reservation ended.
    pub ending: Ending,
    /// `None` when the reservation or the job is unknown.
    pub state: Option<State>,
}

impl Queues {
    /// Moves deadlines. What is lost is never revived.
    pub async fn extend(&self, calls: Vec<Extend>) -> Vec<Result<Extension, Fault>> {
        let item = |call: Extend| {
            let mut args = handle(&call.reservation);
            args.number(call.lease_ms.unwrap_or(0).into());
            (call.reservation.job.queue, ending_in(args, call.draft.as_ref()))
        };
        self.settle(Op::Extend, calls.into_iter().map(item), |word, answer| match word {
            "extended" => Ok(Extension::Extended { deadline: answer.time()?, now: answer.time()? }),
            "lost" => lost(answer).map(Extension::Lost),
            _ => Err(broken("extended or lost")),
        })
        .await
    }

    /// Reports success, and keeps the result.
    pub async fn complete(&self, calls: Vec<Complete>) -> Vec<Result<Completion, Fault>> {
        let item = |call: Complete| {
            let args = handle(&call.reservation);
            (call.reservation.job.queue, ending_in(args, call.result.as_ref()))
        };
        self.settle(Op::Complete, calls.into_iter().map(item), |word, answer| match word {
            "done" => Ok(Completion::Done { late: answer.flag()?, duplicate: false }),
            "again" => Ok(Completion::Done { late: answer.flag()?, duplicate: true }),
            "lost" => lost(answer).map(Completion::Lost),
            _ => Err(broken("done, again or lost")),
        })
        .await
    }

    /// Gives jobs back to their places; it is not an attempt.
    pub async fn abandon(&self, calls: Vec<Abandon>) -> Vec<Result<Return, Fault>> {
        let item = |call: Abandon| {
            let mut args = handle(&call.reservation);
            args.push(call.reason.unwrap_or_default()).number(call.delay_ms.unwrap_or(0).into());
            args.number(call.skip.into()).number(call.grace_ms.unwrap_or(0).into());
            args.push(call.resumes.map_or("-1".to_owned(), |resumes| resumes.to_string()));
            (call.reservation.job.queue, ending_in(args, call.draft.as_ref()))
        };
        self.settle(Op::Abandon, calls.into_iter().map(item), returned).await
    }

    /// Counts an attempt; the job comes back at once, after its backoff, or not at all.
    pub async fn fail(&self, calls: Vec<Fail>) -> Vec<Result<Return, Fault>> {
        let item = |call: Fail| {
            let mut args = handle(&call.reservation);
            args.push(call.error.unwrap_or_default()).number(chance::jitter());
            (call.reservation.job.queue, Item { args, jobs: 1, needs_memory: false })
        };
        self.settle(Op::Fail, calls.into_iter().map(item), returned).await
    }

    /// Sends the items of each queue down its lane, in their order, and puts the answers back in order.
    fn settle<O: Send>(
        &self,
        op: Op,
        items: impl ExactSizeIterator<Item = (QueueName, Item)>,
        read: impl Fn(&str, &mut Fields) -> Result<O, Fault> + Send,
    ) -> impl Future<Output = Vec<Result<O, Fault>>> + Send {
        let (count, mut lanes) = (items.len(), BTreeMap::<QueueName, (Vec<usize>, Vec<Item>)>::new());
        for (i, (queue, item)) in items.enumerate() {
            let (places, lane) = lanes.entry(queue).or_default();
            places.push(i);
            lane.push(item);
        }
        let begin = Instant::now();
        async move {
            let unknown = self.unknown_of(lanes.keys(), begin).await;
            let sent = lanes.into_iter().map(|(queue, (places, items))| {
                let unknown = &unknown;
                async move {
                    let answers = match unknown {
                        Err(fault) => items.iter().map(|_| Err(fault.clone())).collect(),
                        Ok(names) if names.contains(&queue) => {
                            meter::lost(items.len() as u64);
                            items.iter().map(|_| Ok(Answer::unknown())).collect()
                        }
                        Ok(_) => lanes::call_since(begin, &self.inner, &queue, op, items).await,
                    };
                    (places, answers)
                }
            });
            let mut outcomes: Vec<Option<Result<O, Fault>>> = std::iter::repeat_with(|| None).take(count).collect();
            for (places, answers) in futures_util::future::join_all(sent).await {
                for (place, answer) in places.into_iter().zip(answers) {
                    outcomes[place] = Some(answer.and_then(|answer| open(answer.item, &read)));
                }
            }
            outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Err(broken("an answer")))).collect()
        }
    }
}

fn open<O>(item: Value, read: impl Fn(&str, &mut Fields) -> Result<O, Fault>) -> Result<O, Fault> {
    let mut answer = Fields::of(item)?;
    let word = answer.text()?;
    read(&word, &mut answer)
}

/// Id, secret, digest of the secret: how every settle item begins.
fn handle(reservation: &Reservation) -> Args {
    let mut args = Args::default();
    args.push(reservation.job.code.as_str()).push(reservation.secret.as_str());
    args.push(ids::secret_digest(&reservation.secret));
    args
}

/// An item whose arguments end in a result or a draft.
fn ending_in(mut args: Args, text: Option<&Json>) -> Item {
    let text = text.map_or("", Json::as_str);
    args.push(text);
    Item { args, jobs: 1, needs_memory: text.len() > limits::SMALL_RESULT }
}

fn returned(word: &str, answer: &mut Fields) -> Result<Return, Fault> {
    match word {
        "back" => Ok(Return::Returned { state: answer.state()?, duplicate: false }),
        "again" => Ok(Return::Returned { state: answer.state()?, duplicate: true }),
        "grace" | "resumed" => Ok(Return::Stays),
        "unnamed" => Ok(Return::NobodySkips),
        "lost" => lost(answer).map(Return::Lost),
        _ => Err(broken("what became of a job that was given back")),
    }
}

fn lost(answer: &mut Fields) -> Result<Lost, Fault> {
    let ending = Ending::parse(&answer.text()?).ok_or_else(|| broken("how a reservation ended"))?;
    let state = answer.text()?;
    Ok(Lost { ending, state: State::parse(&state) })
}
