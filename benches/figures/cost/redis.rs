//! Redis alone, called by the crate's own store from this process: what the scripts cost, and nothing else.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use futures_util::future::join_all;
use intray::{
    job::{Name, QueueName},
    payload::Json,
    queue::{Complete, Completion, Enqueued, NewJob, Nonce, Queues, Reserve, ReserveOutcome, random_id},
};

use super::{
    super::client::payload,
    callgrind::{Callgrind, Profile},
};

/// Cycles that are counted, and those before.
const CYCLES: u64 = 600;
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

pub struct Measured {
    /// How the scripts were called.
    pub command: &'static str,
    pub profile: Profile,
    pub per_cycle: u64,
}

/// How Redis is to be called: as the store likes best, or by scripts because there are no functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Preferred,
    Scripts,
}

pub async fn measure(engine: &str, shape: Shape, form: Form, profiles: &Path) -> Measured {
    let callgrind = Callgrind::new(profiles);
    let server = Server::start(callgrind.command(engine), form);
    let queues = Queues::new(&format!("unix://{}", server.socket().display()), "cost").expect("a handle");
    while queues.settle_layout().await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    heat(&queues).await;
    let mut crowd = Crowd { queues, queue: QueueName::parse("bench").expect("a name"), shape, next: 0 };
    crowd.fill().await;
    crowd.work(WARM_UP).await;

    let before = server.calls();
    callgrind.begin(server.child.id());
    crowd.work(CYCLES).await;
    let profile = callgrind.end(server.child.id());
    let after = server.calls();
    let (functions, scripts) = (after.0 - before.0, after.1 - before.1);
    // Now and then the registry is told that the queue is in use.
    let wanted = 3 * CYCLES / shape.calls;
    assert!((wanted..=wanted + 3).contains(&(functions + scripts)), "{wanted} calls, not {functions} and {scripts}");
    let command = if functions > scripts { "FCALL" } else { "EVALSHA" };
    Measured { command, per_cycle: profile.instructions / CYCLES, profile }
}

/// Code that runs for the first time takes callgrind so long that a call may go without an answer: in another queue.
async fn heat(queues: &Queues) {
    let queue = QueueName::parse("heat").expect("a name");
    let mut answered = 0;
    while answered < 3 {
        let id = random_id(queue.clone());
        let payload = Json::from_text(format!("\"{}\"", id.code.as_str())).expect("JSON");
        let enqueued = queues.enqueue(vec![NewJob::plain(id, payload)]).await;
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
            completed = queues.complete(vec![Complete { reservation, result: None }]).await[0].is_ok();
        }
        answered = if enqueued[0].is_ok() && completed { answered + 1 } else { 0 };
    }
}

/// So many who each enqueue, reserve and complete at the same moment.
struct Crowd {
    queues: Queues,
    queue: QueueName,
    shape: Shape,
    next: u64,
}

impl Crowd {
    async fn fill(&mut self) {
        for _ in 0..self.shape.waiting / FILLED_AT_ONCE {
            self.enqueue(FILLED_AT_ONCE).await;
        }
    }

    async fn work(&mut self, cycles: u64) {
        for _ in 0..cycles / self.shape.calls {
            self.enqueue(self.shape.calls).await;
            self.reserve_and_complete().await;
        }
    }

    async fn enqueue(&mut self, calls: u64) {
        let jobs = (self.next..self.next + calls).map(|n| {
            let payload = Json::from_text(payload(n)).expect("JSON");
            self.queues.enqueue(vec![NewJob::plain(random_id(self.queue.clone()), payload)])
        });
        for outcomes in join_all(jobs).await {
            assert!(matches!(outcomes.as_slice(), [Ok(Enqueued::Stored { .. })]), "{outcomes:?}");
        }
        self.next += calls;
    }

    async fn reserve_and_complete(&self) {
        let reserved = join_all((0..self.shape.calls).map(|n| self.queues.reserve(self.ask(n)))).await;
        let done = reserved.into_iter().map(|outcome| {
            let Ok(ReserveOutcome::Jobs { mut jobs, undo, .. }) = outcome else { panic!("{outcome:?}") };
            undo.disarm();
            let reservation = jobs.pop().expect("a job").reservation;
            self.queues.complete(vec![Complete { reservation, result: None }])
        });
        for outcomes in join_all(done).await {
            assert!(matches!(outcomes.as_slice(), [Ok(Completion::Done { .. })]), "{outcomes:?}");
        }
    }

    fn ask(&self, n: u64) -> Reserve {
        let worker = self.shape.is_named.then(|| Name::of_worker(&format!("worker-{n}")).expect("a name"));
        let queues = vec![self.queue.clone()];
        Reserve { queues, worker, limit: 1, lease_ms: None, nonce: Nonce::random(), id: None }
    }
}

/// A Redis of its own, as the private server sets it, but for a clock that wakes it less often.
struct Server {
    child: Child,
    folder: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Server {
    fn start(mut command: Command, form: Form) -> Self {
        let folder = std::env::temp_dir().join(format!("intray-cost-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder");
        command.args(["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--hz", "1"]);
        command.arg("--unixsocket").arg(folder.join("redis.sock")).arg("--dir").arg(&folder);
        if form == Form::Scripts {
            command.args(["--rename-command", "FUNCTION", ""]);
        }
        let child = command.stdout(Stdio::null()).spawn().expect("valgrind");
        let server = Self { child, folder };
        while UnixStream::connect(server.socket()).is_err() {
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// How often functions and scripts were called so far.
    fn calls(&self) -> (u64, u64) {
        let mut stream = UnixStream::connect(self.socket()).expect("Redis");
        write!(stream, "INFO commandstats\r\nQUIT\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let calls = |command: &str| -> u64 {
            let line = answer.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
            line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
        };
        (calls("fcall"), calls("evalsha"))
    }
}
