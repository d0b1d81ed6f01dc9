//! Those who call the store at the same moment, from this process.

use futures_util::future::join_all;
use intray::{
    job::{Name, QueueName},
    payload::Json,
    queue::{Complete, Completion, Enqueued, NewJob, Nonce, Queues, Reserve, ReserveOutcome, random_id},
};

use super::super::client::payload;

const WARM_UP: u64 = 120;
/// Under callgrind a call with more takes too long for who waits for its answer.
const FILLED_AT_ONCE: u64 = 25;

/// The calls that meet, and what they find.
#[derive(Clone, Copy)]
pub struct Shape {
    pub calls: u64,
    pub waiting: u64,
    pub is_named: bool,
}

/// So many who each enqueue, reserve and complete at the same moment.
pub struct Crowd {
    queues: Queues,
    queue: QueueName,
    shape: Shape,
    next: u64,
}

impl Crowd {
    /// A queue that is as full as it is to be, and has been worked on for a while.
    pub async fn ready(queues: &Queues, shape: Shape) -> Self {
        let queue = QueueName::parse("bench").expect("a name");
        let mut crowd = Self { queues: queues.clone(), queue, shape, next: 0 };
        for _ in 0..shape.waiting / FILLED_AT_ONCE {
            crowd.enqueue(FILLED_AT_ONCE).await;
        }
        crowd.work(WARM_UP).await;
        crowd
    }

    pub async fn work(&mut self, cycles: u64) {
        for _ in 0..cycles / self.shape.calls {
            self.enqueue(self.shape.calls).await;
            self.reserve_and_complete().await;
        }
    }

    async fn enqueue(&mut self, calls: u64) {
        let jobs = (self.next..self.next + calls).map(|n| {
            let payload = Json::from_text(payload(n)).expect("JSON");
            self.queues.enqueue(NewJob::plain(random_id(self.queue.clone()), payload))
        });
        for outcomes in join_all(jobs).await {
            assert!(matches!(outcomes, Ok(Enqueued::Stored { .. })), "{outcomes:?}");
        }
        self.next += calls;
    }

    async fn reserve_and_complete(&self) {
        let reserved = join_all((0..self.shape.calls).map(|n| self.queues.reserve(self.ask(n)))).await;
        let done = reserved.into_iter().map(|outcome| {
            let Ok(ReserveOutcome::Jobs { mut jobs, undo, .. }) = outcome else { panic!("{outcome:?}") };
            undo.disarm();
            let reservation = jobs.pop().expect("a job").reservation;
            self.queues.complete(Complete { reservation, result: None })
        });
        for outcomes in join_all(done).await {
            assert!(matches!(outcomes, Ok(Completion::Done { .. })), "{outcomes:?}");
        }
    }

    fn ask(&self, n: u64) -> Reserve {
        let worker = self.shape.is_named.then(|| Name::of_worker(&format!("worker-{n}")).expect("a name"));
        let queues = vec![self.queue.clone()];
        Reserve { queues, worker, limit: 1, lease_ms: None, nonce: Nonce::random(), id: None }
    }
}

/// Code that runs for the first time takes callgrind so long that a call may go without an answer: in another queue.
pub async fn heat(queues: &Queues) {
    let queue = QueueName::parse("heat").expect("a name");
    let mut answered = 0;
    while answered < 3 {
        let id = random_id(queue.clone());
        let payload = Json::from_text(format!("\"{}\"", id.code.as_str())).expect("JSON");
        let enqueued = queues.enqueue(NewJob::plain(id, payload)).await;
        let ask = Reserve {
            queues: vec![queue.clone()],
            worker: None,
            limit: 1,
            lease_ms: None,
            nonce: Nonce::random(),
            id: None,
        };
        let mut completed = false;
        if let Ok(ReserveOutcome::Jobs { mut jobs, undo, .. }) = queues.reserve(ask).await {
            undo.disarm();
            let reservation = jobs.pop().expect("a job").reservation;
            completed = queues.complete(Complete { reservation, result: None }).await.is_ok();
        }
        answered = if enqueued.is_ok() && completed { answered + 1 } else { 0 };
    }
}
