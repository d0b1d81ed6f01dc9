//! Each flag of a job's record is tested by its own bit: a job with any flag, and with any two, moves through every transition. One of
//! them is of a later release, which may run next to this one.

use intray_redis::Args;
use redis::Value;

use super::{Redis, queue, without_times};
use crate::{
    Abandon, Actor, BatchCreation, Fail, NewBatch, Requeue, Requeued,
    job::{BatchId, JobId, Name, State, ids},
    record_fields::{TRACE, flags},
};

/// The first flag of a later release.
const LATER: u16 = 4096;
const ATTEMPTS: u32 = 5;
/// As many as one step of a sweep expires.
const JOBS: u8 = 8;
const FLAGS: [u16; 12] = [
    flags::EXTERNAL,
    flags::CLIENT,
    flags::DIGEST,
    flags::FINGERPRINT,
    flags::LEASE,
    flags::ATTEMPTS,
    flags::BACKOFF,
    flags::TRACE,
    flags::LOCKS,
    flags::MEMBER,
    flags::ROUTED,
    LATER,
];

/// A record from its stamp on. The client of a batch's job is not in the argument.
fn tail(has: u16, unique: u8) -> Vec<u8> {
    let mut tail = has.to_be_bytes().to_vec();
    tail.push(50);
    let mut part = |flag, bytes: &[u8]| {
        if has & flag != 0 {
            tail.extend(bytes);
        }
    };
    if has & flags::MEMBER == 0 {
        part(flags::CLIENT, b"\x01c");
    }
    part(flags::DIGEST, &[unique; 16]);
    part(flags::FINGERPRINT, &[unique; 8]);
    part(flags::LEASE, &60_000_u32.to_be_bytes());
    part(flags::ATTEMPTS, &ATTEMPTS.to_be_bytes());
    part(flags::BACKOFF, &[1, 0, 0, 0, 1, 0, 0, 0, 1]);
    part(flags::TRACE, &[b'0'; TRACE.width]);
    part(flags::LOCKS, b"\x01\x00\x01l");
    if has & flags::EXTERNAL == 0 {
        tail.push(b'7');
    }
    tail
}

/// The rare options: with a route, valid always and of an expiry in a minute; with a payload outside the record.
fn rare(has: u16) -> Vec<u8> {
    let mut rare = vec![0; 13];
    if has & flags::ROUTED != 0 {
        rare.extend([0; 6]);
        rare.extend([255; 6]);
        rare.extend(b"\x00\x09\x81\x00\x06\x00\x00\x00\x00\xff\xff");
    }
    if has & flags::EXTERNAL != 0 {
        rare.push(b'7');
    }
    if has & (flags::ROUTED | flags::EXTERNAL) == 0 { Vec::new() } else { rare }
}

impl Redis {
    /// A waiting job, alone or in a batch of its own.
    async fn job_with(&self, has: u16, unique: u8) -> JobId {
        let mut args = Args::default();
        if has & flags::MEMBER == 0 {
            let id = ids::random_id(queue());
            args.put(|first| {
                first.extend(id.code.as_str().as_bytes());
                first.extend(rare(has));
            });
            args.put(|record| record.extend(tail(has, unique)));
            let reply = self.queues.run_view("enqueue", &queue(), &args).await.expect("a reply");
            assert_eq!(without_times(&reply), "stored,waiting", "{has}");
            return id;
        }
        let id = self.open_batch(has & flags::CLIENT != 0).await;
        args.push(id.code.as_str()).number(0).push("add");
        args.put(|record| record.extend(tail(has & !flags::CLIENT, unique)));
        args.put(|options| options.extend(rare(has)));
        let reply = self.queues.run_view("append", &queue(), &args).await.expect("a reply");
        assert_eq!(without_times(&reply), "appended,record", "{has}");
        id.member(0)
    }

    async fn open_batch(&self, has_client: bool) -> BatchId {
        let (priority, concurrency, fingerprint, jobs) = Default::default();
        let client = has_client.then(|| Name::parse("c").expect("a name"));
        let id = ids::random_batch(queue());
        let new = NewBatch { id: id.clone(), concurrency, priority, client, sealed: false, jobs, fingerprint };
        let created = self.queues.create_batch(new).await;
        assert!(matches!(created, Ok(BatchCreation::Created { is_known: false, .. })), "{created:?}");
        id
    }

    /// A member of a set with times becomes overdue.
    async fn set_overdue(&self, set: &str, id: &JobId) {
        let key = format!("t:{{{}}}:2:{set}", queue().as_str());
        let command = redis::cmd("ZADD").arg(key).arg("XX").arg(1).arg(id.code.as_str()).to_owned();
        self.queues.parts.runner.link.plain(&command).await.expect("a reply");
    }

    /// The same, and one sweep handles it. Returns how many expired, and how many fell due.
    async fn overdue(&self, set: &str, id: &JobId) -> (u64, u64) {
        self.set_overdue(set, id).await;
        let swept = self.queues.sweep_once(&queue()).await.expect("swept");
        (swept.expired, swept.due)
    }

    async fn state(&self, id: &JobId) -> State {
        self.queues.job(id.clone()).await.expect("a reply").expect("a job").state
    }

    async fn give_back(&self, delay_ms: Option<u32>) {
        let (reason, skip, grace_ms, resumes, draft) = Default::default();
        let reservation = self.reserve().await;
        let call = Abandon { reservation, reason, delay_ms, skip, grace_ms, resumes, draft };
        self.queues.abandon(call).await.expect("abandoned");
    }

    async fn fail(&self, id: &JobId) {
        let reservation = self.reserve().await;
        self.queues.fail(Fail { reservation, error: None }).await.expect("failed");
        if self.state(id).await == State::Delayed {
            self.overdue("delayed", id).await;
        }
    }

    async fn fail_until_dead(&self, id: &JobId) {
        for _ in 0..ATTEMPTS {
            assert_eq!(self.state(id).await, State::Waiting);
            self.fail(id).await;
        }
        assert_eq!(self.state(id).await, State::Dead);
    }
}

#[tokio::test]
async fn job_with_any_two_flags_moves_through_every_transition() {
    let redis = Redis::start().await;
    let pairs = FLAGS.iter().flat_map(|one| FLAGS.iter().map(move |other| one | other));
    let sets: std::collections::BTreeSet<u16> = pairs.collect();
    for (unique, has) in sets.into_iter().enumerate() {
        let id = redis.job_with(has, unique as u8).await;
        redis.reserve().await;
        assert_eq!(redis.state(&id).await, State::Reserved, "{has}");
        assert_eq!(redis.overdue("reserved", &id).await, (1, 0), "{has}");
        assert_eq!(redis.state(&id).await, State::Waiting, "{has}");
        redis.give_back(Some(60_000)).await;
        assert_eq!(redis.state(&id).await, State::Delayed, "{has}");
        assert_eq!(redis.overdue("delayed", &id).await, (0, 1), "{has}");
        redis.give_back(None).await;
        redis.fail(&id).await;
        assert_eq!(redis.state(&id).await, State::Waiting, "{has}");
        let reservation = redis.reserve().await;
        redis.twice("complete", &super::completed(reservation, "8")).await;
        assert_eq!(redis.state(&id).await, State::Completed, "{has}");
        let used = redis.queues.parts.runner.link.plain(redis::cmd("HLEN").arg("t:{q}:2:gates")).await;
        assert_eq!(used.expect("a count"), Value::Int(0), "{has}: a gate stays in use");

        let id = redis.job_with(has, unique as u8 + 100).await;
        if has & flags::ATTEMPTS != 0 {
            redis.fail_until_dead(&id).await;
            let requeued = redis.queues.requeue(Requeue::Job(id.clone()), &Actor::default()).await.expect("requeued");
            assert_eq!(requeued, Requeued::Count { requeued: 1, next: None }, "{has}");
        }
        redis.queues.cancel(id.clone(), false, &Actor::default()).await.expect("cancelled");
        assert_eq!(redis.state(&id).await, State::Cancelled, "{has}");
    }
}

#[tokio::test]
async fn job_with_a_later_flag_expires_as_any_other() {
    for has in [0, LATER] {
        let redis = Redis::start().await;
        let mut jobs = Vec::new();
        for unique in 0..JOBS {
            jobs.push(redis.job_with(has, unique).await);
            redis.reserve().await;
        }
        for id in &jobs {
            redis.set_overdue("reserved", id).await;
        }
        let swept = redis.queues.sweep_once(&queue()).await.expect("swept");
        assert_eq!(swept.expired, u64::from(JOBS), "{has}");
    }
}
