//! Locks and batches, script by script.

use intray_redis::Args;

use super::{Redis, job, queue, server::ask_for, without_times};
use crate::{
    Actor, Appended, BatchCancellation, BatchCreation, Cancellation, Complete, Completion, NewBatch, NewMember,
    ReserveOutcome, Task,
    job::{BatchState, LockName, State, ids},
    payload::Json,
    record_fields,
    transitions::reserve::Handout,
};

fn member(payload: &str) -> NewMember {
    NewMember { task: Task::plain(Json::from_text(payload.to_owned()).expect("JSON")), priority: None }
}

pub(super) fn batch(concurrency: Option<u32>, sealed: bool, jobs: u32) -> NewBatch {
    let (priority, client, fingerprint) = Default::default();
    let jobs = (0..jobs).map(|n| member(&n.to_string())).collect();
    NewBatch { id: ids::random_batch(queue()), concurrency, priority, client, sealed, jobs, fingerprint }
}

impl Redis {
    async fn enqueue_with(&self, payload: &str, locks: &[&str]) {
        let mut new = job(payload);
        new.task.locks = locks.iter().map(|lock| LockName::parse(lock).expect("a lock")).collect();
        self.queues.enqueue(new).await.expect("stored");
    }

    pub(super) async fn take(&self, limit: u32) -> Vec<Handout> {
        match self.queues.reserve(ask_for(None, limit)).await {
            Ok(ReserveOutcome::Jobs { jobs, undo, .. }) => {
                undo.disarm();
                jobs
            }
            Ok(ReserveOutcome::Nothing { .. }) => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn finish(&self, job: &Handout) {
        let call = Complete::new(job.reservation.clone(), Some(job.payload.clone()));
        let done = self.queues.complete(call).await.expect("completed");
        assert!(matches!(done, Completion::Done { duplicate: false, .. }), "{done:?}");
    }

    pub(super) async fn create(&self, new: NewBatch) -> crate::Batch {
        match self.queues.create_batch(new).await {
            Ok(BatchCreation::Created { batch, .. }) => batch,
            other => panic!("{other:?}"),
        }
    }
}

fn payloads(jobs: &[Handout]) -> Vec<&str> {
    jobs.iter().map(|job| job.payload.as_str()).collect()
}

#[tokio::test]
async fn lock_is_freed_when_its_job_completes() {
    let redis = Redis::start().await;
    for (payload, locks) in [("1", &["a", "b"][..]), ("2", &["b"]), ("3", &["a"]), ("4", &["a", "b"]), ("5", &[])] {
        redis.enqueue_with(payload, locks).await;
    }
    let first = redis.take(5).await;
    assert_eq!(payloads(&first), ["1", "5"]);
    redis.finish(&first[0]).await;
    let second = redis.take(5).await;
    assert_eq!(payloads(&second), ["2", "3"]);
    redis.finish(&second[0]).await;
    assert!(redis.take(5).await.is_empty());
    redis.finish(&second[1]).await;
    assert_eq!(payloads(&redis.take(5).await), ["4"]);
}

#[tokio::test]
async fn batch_respects_concurrency_and_ends_once() {
    let redis = Redis::start().await;
    for concurrency in [Some(5), None] {
        let made = redis.create(batch(concurrency, true, 450)).await;
        assert_eq!((made.state, made.total, made.counts.reserved), (BatchState::Sealed, 450, 0));
        let (mut out, mut done) = (Vec::new(), 0);
        while done < 450 {
            out.extend(redis.take(100).await);
            let now = redis.queues.batch(&made.id).await.expect("an answer").expect("a batch");
            assert_eq!(now.counts.reserved, out.len() as u64);
            assert!(out.len() <= concurrency.unwrap_or(100) as usize && !out.is_empty());
            for job in out.drain(..) {
                redis.finish(&job).await;
                done += 1;
            }
        }
        let ended = redis.queues.batch(&made.id).await.expect("an answer").expect("a batch");
        assert_eq!((ended.state, ended.counts.completed), (BatchState::Completed, 450));
        let page = redis.queues.results(&made.id, 400, 1_000).await.expect("an answer").expect("a batch");
        let results: Vec<_> = page.results.iter().map(|r| r.result.as_ref().expect("a result").as_str()).collect();
        assert_eq!(results, (400..450).map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(page.next, None);
    }
}

#[tokio::test]
async fn open_batch_accepts_jobs_until_sealed() {
    let redis = Redis::start().await;
    let made = redis.create(batch(Some(2), false, 2)).await;
    let more = [member("2"), member("3")];
    for _ in 0..2 {
        let appended = redis.queues.append(&made.id, &more, Some(2)).await.expect("an answer");
        assert!(matches!(appended, Appended::Batch(ref batch) if batch.total == 4), "{appended:?}");
    }
    for (jobs, offset, total) in [(&more[..1], 5, 4), (&more[1..], 2, 4)] {
        let misfit = redis.queues.append(&made.id, jobs, Some(offset)).await.expect("an answer");
        assert!(matches!(misfit, Appended::Misfit { total: t } if t == total), "{misfit:?}");
    }
    let appended = redis.queues.append(&made.id, &more, None).await.expect("an answer");
    assert!(matches!(appended, Appended::Batch(ref batch) if batch.total == 6), "{appended:?}");
    let sealed = redis.queues.seal(&made.id).await.expect("an answer").expect("a batch");
    assert_eq!(sealed.state, BatchState::Sealed);
    let closed = redis.queues.append(&made.id, &more, None).await.expect("an answer");
    assert!(matches!(closed, Appended::NotOpen(BatchState::Sealed)), "{closed:?}");
    let held = redis.take(100).await;
    assert_eq!(payloads(&held), ["0", "1"]);
    let cancelled = redis.queues.cancel_batch(&made.id, &Actor::default()).await.expect("an answer");
    let BatchCancellation::Cancelled(cancelled) = cancelled else { panic!("{cancelled:?}") };
    assert_eq!((cancelled.counts.cancelled, cancelled.counts.reserved), (4, 2));
    redis.finish(&held[0]).await;
    redis.finish(&held[1]).await;
    let over = redis.queues.batch(&made.id).await.expect("an answer").expect("a batch");
    assert_eq!((over.state, over.counts.completed), (BatchState::Cancelled, 2));
    let state = redis.queues.job(made.id.member(5)).await.expect("an answer").expect("a job").state;
    assert_eq!(state, State::Cancelled);
    let empty = redis.create(batch(None, true, 0)).await;
    assert_eq!(empty.state, BatchState::Completed);
}

/// The lease of its only attempt has run out, and no sweep has come since.
#[tokio::test]
async fn job_that_died_with_its_batch_is_not_cancelled() {
    let redis = Redis::start().await;
    let mut new = batch(None, true, 1);
    new.jobs[0].task.max_attempts = Some(1);
    let made = redis.create(new).await;
    let held = redis.take(1).await.remove(0).reservation.job;
    let key = redis.queues.parts.runner.keys.of(&queue(), "reserved");
    let mut command = redis::cmd("ZADD");
    command.arg(key).arg("XX").arg(1).arg(held.code.as_str());
    redis.queues.parts.runner.link.plain(&command).await.expect("overdue");
    let refused = redis.queues.cancel(held, true, &Actor::default()).await.expect("an answer");
    assert_eq!(refused, Cancellation::WrongState(State::Dead));
    let over = redis.queues.batch(&made.id).await.expect("an answer").expect("a batch");
    assert_eq!((over.state, over.counts.dead, over.counts.cancelled), (BatchState::Failed, 1, 0));
}

fn write_member(tail: &mut Vec<u8>, priority: u8, mark: u8) {
    let task = Task::plain(Json::from_text("7".to_owned()).expect("JSON"));
    task.write_tail(record_fields::flags::MEMBER, priority, "", None, Some(&[mark; 8]), tail);
}

#[tokio::test]
async fn repeated_batch_step_counts_once() {
    let redis = Redis::start().await;
    let id = ids::random_batch(queue());
    let code = || {
        let mut args = Args::default();
        args.push(id.code.as_str());
        args
    };
    let mut create = code();
    create.number(1).number(50).push("").number(2).number(0).push([0; 8]);
    assert_eq!(without_times(&redis.twice("create", &create).await), "making");
    for n in 0..2 {
        let mut append = code();
        append.number(n).push("make").put(|tail| write_member(tail, 50, n as u8)).push("");
        let answer = redis.queues.run_view("append", &queue(), &append).await.expect("appended");
        assert_eq!(without_times(&answer), "appended,record");
    }
    let mut stage = code();
    stage.push("on");
    assert_eq!(without_times(&redis.twice("stage", &stage).await), "done");
    let mut append = code();
    append.number(2).push("add").put(|tail| write_member(tail, 9, 9)).push("");
    assert_eq!(without_times(&redis.twice("append", &append).await), "appended,record");
    let mut withdraw = code();
    withdraw.push(r#"{"action":"cancel"}"#);
    for (script, args) in [("seal", &code()), ("withdraw", &withdraw), ("stage", &stage)] {
        redis.twice(script, args).await;
    }
    let over = redis.queues.batch(&id).await.expect("an answer").expect("a batch");
    assert_eq!((over.state, over.counts.cancelled), (BatchState::Cancelled, 3));
}
