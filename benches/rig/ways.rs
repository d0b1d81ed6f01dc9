//! Callers of the service's queues, each with its own feature.

use std::net::SocketAddr;

use tokio::task::JoinHandle;

use super::{
    Rig, Setup,
    client::{Client, field, payload},
    stock::{fill, many},
};

/// Jobs that wait in each queue before the first caller comes.
const WAITING: u64 = 1_000;
const CLIENTS: u64 = 1_000;
/// The callers of most measurements, each with a name.
const CALLERS: u64 = 64;
/// The lock of each reserved job is free: the last job that needed it ended long before.
const LOCKS: u64 = 2 * WAITING;
/// Ten waiting jobs need each lock.
const FEW_LOCKS: u64 = WAITING / 10;
const BATCH: u64 = 100;
const SKILLS: u64 = 4;
/// Workers that answer each question.
const OPINIONS: u64 = 3;
const FORM: &str = r#"{"result_schema":{"type":"object","properties":{
    "verdict":{"type":"string","enum":["keep","limit","remove"]},
    "rule":{"type":"string","enum":["spam","harassment","privacy"]},
    "note":{"type":"string","maxLength":2000},
    "sure":{"type":"integer","minimum":1,"maximum":5}},
    "required":["verdict"],"additionalProperties":false}}"#;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Plain,
    Named,
    Locks,
    FewLocks,
    Clients,
    Batches,
    /// Each job is for one worker.
    Assigned,
    /// Each job needs one of the skills that all workers have.
    Skilled,
    /// Each job is for all but one worker.
    Excluding,
    /// Each job is one of some equal ones, of which no worker gets two.
    Opinions,
    /// Plain, with a reader of events.
    Watched,
    /// Each result is checked by the form of the queue.
    Form,
}

/// Each feature of a queue, and each of a service for all its queues.
pub const ALL: [(Setup, Way, &str); 15] = [
    (Setup::Plain, Way::Plain, "nothing more"),
    (Setup::Plain, Way::Named, "named workers"),
    (Setup::Plain, Way::Locks, "a lock for each job"),
    (Setup::Plain, Way::FewLocks, "a lock for ten jobs"),
    (Setup::Plain, Way::Clients, "clients that take turns"),
    (Setup::Plain, Way::Batches, "batches of 100"),
    (Setup::Plain, Way::Assigned, "an assignee for each job"),
    (Setup::Plain, Way::Skilled, "a skill for each job"),
    (Setup::Plain, Way::Excluding, "an excluded worker each"),
    (Setup::Plain, Way::Opinions, "three opinions a question"),
    (Setup::Plain, Way::Watched, "a reader of /events"),
    (Setup::Plain, Way::Form, "a form for the result"),
    (Setup::Tls, Way::Plain, "TLS"),
    (Setup::Replicated, Way::Plain, "changes that a replica has"),
    (Setup::Synced, Way::Plain, "changes that are on disk"),
];

impl Way {
    fn queue(self) -> &'static str {
        match self {
            Self::Plain => "bench",
            Self::Named => "named",
            Self::Locks => "locks",
            Self::FewLocks => "few-locks",
            Self::Clients => "clients",
            Self::Batches => "batches",
            Self::Assigned => "assigned",
            Self::Skilled => "skilled",
            Self::Excluding => "excluding",
            Self::Opinions => "opinions",
            Self::Watched => "watched",
            Self::Form => "form",
        }
    }

    /// What a job says besides, which is enqueued by the worker `me`.
    fn also(self, n: u64, me: u64) -> String {
        match self {
            Self::Plain | Self::Named | Self::Batches | Self::Opinions | Self::Watched | Self::Form => String::new(),
            Self::Assigned => format!(r#""assignees":["worker-{me}"],"#),
            Self::Skilled => format!(r#""skill":"skill-{}","#, n % SKILLS),
            Self::Excluding => format!(r#""excluded":["worker-{}"],"#, me + 1_000),
            Self::Locks => format!(r#""locks":["lock-{}"],"#, n % LOCKS),
            Self::FewLocks => format!(r#""locks":["lock-{}"],"#, n % FEW_LOCKS),
            Self::Clients => format!(r#""client":"client-{}","#, n % CLIENTS),
        }
    }

    /// How many jobs a batch has, if its callers create batches.
    fn batch_size(self) -> Option<u64> {
        match self {
            Self::Batches => Some(BATCH),
            Self::Opinions => Some(OPINIONS),
            _ => None,
        }
    }

    fn batch(self, n: u64) -> String {
        match self {
            Self::Opinions => {
                let (queue, payload) = (self.queue(), payload(n));
                format!(r#"{{"queue":"{queue}","overlap":{OPINIONS},"job":{{"payload":{payload}}}}}"#)
            }
            _ => batch(),
        }
    }

    /// What the calls of a worker say of it.
    fn identity(self, me: usize) -> String {
        let skills: Vec<_> = (0..SKILLS).map(|skill| format!(r#""skill-{skill}""#)).collect();
        match self {
            Self::Named | Self::Assigned | Self::Excluding | Self::Opinions => format!(r#","worker":"worker-{me}""#),
            Self::Skilled => format!(r#","worker":"worker-{me}","skills":[{}]"#, skills.join(",")),
            _ => String::new(),
        }
    }

    /// What a completion says besides.
    fn result(self) -> &'static str {
        match self {
            Self::Form => r#","result":{"verdict":"limit","rule":"spam","note":"seen before","sure":4}"#,
            _ => "",
        }
    }

    /// A queue with waiting jobs, of batches if its callers create batches.
    pub async fn ready(self, rig: &Rig) {
        if self == Self::Form {
            rig.client().await.request("PATCH", "/queues/form", FORM).await;
        }
        let Some(size) = self.batch_size() else {
            return fill(rig, self.queue(), WAITING, |n| self.also(n, n % CALLERS)).await;
        };
        let mut client = rig.client().await;
        for n in 0..WAITING / size {
            client.post("/batches", &self.batch(n)).await;
        }
    }

    pub fn reader(self, rig: &Rig) -> Option<Reader> {
        (self == Self::Watched).then(|| Reader(tokio::spawn(read(rig.address))))
    }
}

/// The reader of a watched queue, until dropped.
pub struct Reader(JoinHandle<()>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A reader that falls too far behind is cut, and reconnects.
async fn read(address: SocketAddr) {
    loop {
        Client::to(address).await.drain("/events").await;
    }
}

pub struct Worker {
    client: Client,
    way: Way,
    me: u64,
    put: String,
    ask: String,
    left: u64,
}

/// The jobs of a batch need no unique payload.
fn batch() -> String {
    let jobs = many("batches", 0..BATCH, |_| String::new()).replace(r#""queue":"batches","#, "");
    format!(r#"{{"queue":"batches","concurrency":16,"jobs":{jobs}}}"#)
}

/// `count` callers on connections of their own.
pub async fn workers(rig: &Rig, way: Way, count: usize) -> Vec<Worker> {
    let mut workers = Vec::new();
    for me in 0..count {
        let queue = way.queue();
        let worker = way.identity(me);
        let ask = format!(r#"{{"queues":["{queue}"]{worker}}}"#);
        let put = format!(r#"{{"queue":"{queue}","#);
        // They do not all create a batch at the same moment.
        let left = way.batch_size().unwrap_or(0) * me as u64 / count as u64;
        workers.push(Worker { client: rig.client().await, way, me: me as u64, put, ask, left });
    }
    workers
}

impl Worker {
    /// The whole life of a job. The number is unique.
    pub async fn cycle(&mut self, n: u64) {
        match self.way.batch_size() {
            None => {
                let job = format!(r#"{}{}"payload":{}}}"#, self.put, self.way.also(n, self.me), payload(n));
                self.client.post("/jobs", &job).await;
            }
            Some(size) if self.left == 0 => {
                self.client.post("/batches", &self.way.batch(n)).await;
                self.left = size;
            }
            Some(_) => {}
        }
        self.left = self.left.saturating_sub(1);
        let job = self.client.post("/jobs/reserve", &self.ask).await;
        let done = format!(r#"{{"reservation":"{}"{}}}"#, field(job, "reservation"), self.way.result());
        self.client.post("/jobs/complete", &done).await;
    }
}
