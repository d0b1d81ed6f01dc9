//! Callers of the store at the same moment, from this process.

use futures_util::future::join_all;
use intray::{
    job::{Name, QueueName, Reservation},
    payload::Json,
    store::{Complete, Completion, Enqueued, Fault, NewJob, Queues, Reserve, ReserveOutcome, Swept, random_id},
};

use super::super::client::payload;

const WARM_UP: u64 = 120;
/// Under callgrind a larger call takes too long for its caller.
const FILLED_AT_ONCE: u64 = 25;

/// The concurrent calls, and the queue that they find.
#[derive(Clone, Copy)]
pub struct Shape {
    pub calls: u64,
    pub waiting: u64,
    pub is_named: bool,
}

/// Callers that enqueue, reserve and complete at the same moment.
pub struct Crowd {
    queues: Queues,
    queue: QueueName,
    shape: Shape,
    next: u64,
}

impl Crowd {
    /// A queue with its stock, already in use.
    pub async fn ready(queues: &Queues, shape: Shape) -> Result<Self, Fault> {
        let queue = QueueName::parse("bench").expect("a name");
        let mut crowd = Self { queues: queues.clone(), queue, shape, next: 0 };
        for _ in 0..shape.waiting / FILLED_AT_ONCE {
            crowd.enqueue(FILLED_AT_ONCE).await?;
        }
        crowd.work(WARM_UP).await?;
        Ok(crowd)
    }

    pub async fn work(&mut self, cycles: u64) -> Result<(), Fault> {
        for _ in 0..cycles / self.shape.calls {
            self.enqueue(self.shape.calls).await?;
            let reserved = self.reserve().await?;
            self.complete(reserved).await?;
        }
        Ok(())
    }

    /// Runs all of them once.
    pub async fn enqueue(&mut self, calls: u64) -> Result<(), Fault> {
        let jobs = (self.next..self.next + calls).map(|n| {
            let payload = Json::from_text(payload(n)).expect("JSON");
            self.queues.enqueue(NewJob::plain(random_id(self.queue.clone()), payload))
        });
        for outcome in join_all(jobs).await {
            assert!(matches!(outcome?, Enqueued::Stored { .. }), "a new job");
        }
        self.next += calls;
        Ok(())
    }

    pub async fn reserve(&self) -> Result<Vec<Reservation>, Fault> {
        self.reserved_by(self.shape.calls).await
    }

    async fn reserved_by(&self, callers: u64) -> Result<Vec<Reservation>, Fault> {
        let outcomes = join_all((0..callers).map(|n| self.queues.reserve(self.ask(n)))).await;
        let reservation = |outcome| {
            let ReserveOutcome::Jobs { mut jobs, undo, .. } = outcome? else { panic!("a caller got no job") };
            undo.disarm();
            Ok(jobs.pop().expect("a job").reservation)
        };
        outcomes.into_iter().map(reservation).collect()
    }

    pub async fn complete(&self, reserved: Vec<Reservation>) -> Result<(), Fault> {
        let done = reserved.into_iter().map(|reservation| self.queues.complete(Complete::new(reservation, None)));
        for outcome in join_all(done).await {
            assert!(matches!(outcome?, Completion::Done { .. }), "who holds it completes it");
        }
        Ok(())
    }

    /// A completion for which the service reads the form of the queue, so that the next ones do not.
    pub async fn read_form(&mut self) -> Result<(), Fault> {
        self.enqueue(1).await?;
        let reserved = self.reserved_by(1).await?;
        self.complete(reserved).await
    }

    /// One step of the sweep.
    pub async fn sweep(&self) -> Result<Swept, Fault> {
        self.queues.sweep_once(&self.queue).await
    }

    fn ask(&self, n: u64) -> Reserve {
        let worker = self.shape.is_named.then(|| Name::of_worker(&format!("worker-{n}")).expect("a name"));
        Reserve::plain(self.queue.clone(), worker)
    }
}

/// Under callgrind new code is so slow that a call may time out: warm up in another queue.
pub async fn heat(queues: &Queues) {
    let queue = QueueName::parse("heat").expect("a name");
    let mut answered = 0;
    while answered < 3 {
        let id = random_id(queue.clone());
        let payload = Json::from_text(format!("\"{}\"", id.code.as_str())).expect("JSON");
        let enqueued = queues.enqueue(NewJob::plain(id, payload)).await;
        let mut completed = false;
        if let Ok(ReserveOutcome::Jobs { mut jobs, undo, .. }) =
            queues.reserve(Reserve::plain(queue.clone(), None)).await
        {
            undo.disarm();
            let reservation = jobs.pop().expect("a job").reservation;
            completed = queues.complete(Complete::new(reservation, None)).await.is_ok();
        }
        answered = if enqueued.is_ok() && completed { answered + 1 } else { 0 };
    }
}
