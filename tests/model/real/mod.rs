//! The real queue: a Redis whose clock stands still until it is moved, the handle on it, and eyes of the test's own.

pub mod batch;
pub mod keyspace;
pub mod record;
pub mod route;

use std::{collections::BTreeMap, env, path::Path, sync::Arc};

use intray::{
    job::QueueName,
    store::{Certificates, Durability, Queues, Servers, Timeouts},
};
use tempfile::TempDir;

use self::keyspace::Keyspace;
use crate::{
    fixtures::Verdict,
    library::Library,
    mirror::Mirror,
    patch_scripts::{Edit, Editor},
    world::Engine,
};

/// Some instant.
const BEGIN_MS: u64 = 1_800_000_000_000;

pub struct Real {
    pub handle: Queues,
    pub queue: QueueName,
    /// What the handle had counted before this walk.
    before: BTreeMap<String, u64>,
    /// Between the handle and Redis, if scripts are edited.
    pub editor: Option<Editor>,
    engine: Engine,
    eyes: redis::Connection,
    /// Where each script runs otherwise, if that is compared.
    second: Option<Second>,
    now: u64,
    round: u64,
    _folder: TempDir,
}

struct Second {
    mirror: Mirror,
    engine: Engine,
    eyes: redis::Connection,
    _folder: TempDir,
}

impl Second {
    async fn start(folder: &Path, first: &Engine, edits: &[Edit], other: &Arc<Library>) -> Self {
        let own = tempfile::Builder::new().prefix("intray-model-").tempdir().expect("a temporary folder");
        let engine = Engine::start(own.path(), false).await;
        engine.clock.stop_at(BEGIN_MS);
        let mirror = Mirror::start(folder, first.socket(), engine.socket(), edits, other);
        Self { mirror, eyes: connect(&engine), engine, _folder: own }
    }
}

fn url(socket: &Path) -> String {
    format!("unix://{}", socket.display())
}

/// Redis has so long to answer, that no busy machine fails a walk.
const REDIS_TIMEOUT_MS: u32 = 30_000;

fn connect(engine: &Engine) -> redis::Connection {
    let client = redis::Client::open(url(&engine.socket()));
    client.and_then(|client| client.get_connection()).expect("a connection")
}

impl Real {
    pub async fn start(edits: &[Edit], other: Option<&Arc<Library>>) -> Self {
        let folder = tempfile::Builder::new().prefix("intray-model-").tempdir().expect("a temporary folder");
        let engine = Engine::start(folder.path(), false).await;
        engine.clock.stop_at(BEGIN_MS);
        // Without edits it only keeps functions away.
        let is_between =
            other.is_none() && !edits.is_empty() || env::var("INTRAY_MODEL_FORM").is_ok_and(|form| form == "scripts");
        let editor = is_between.then(|| Editor::start(folder.path(), engine.socket(), edits));
        let second = match other {
            Some(other) => Some(Second::start(folder.path(), &engine, edits, other).await),
            None => None,
        };
        let proxy = second.as_ref().map(|second| &second.mirror.socket);
        let proxy = proxy.or(editor.as_ref().map(|editor| &editor.socket)).cloned();
        let servers =
            Servers::at(&url(&proxy.unwrap_or_else(|| engine.socket())), Certificates::default()).expect("a URL");
        let handle = Queues::on(servers, Timeouts::of_response(REDIS_TIMEOUT_MS), "intray", None, Durability::Async);
        // All walks are counted together.
        handle.figures().label(0);
        let queue = QueueName::default();
        Self {
            handle,
            queue,
            before: BTreeMap::new(),
            editor,
            eyes: connect(&engine),
            engine,
            second,
            now: BEGIN_MS,
            round: 0,
            _folder: folder,
        }
    }

    /// Empties Redis. The queue gets a new name each time, because the handle caches what it knows of a name.
    pub fn begin(&mut self) {
        self.round += 1;
        self.before = self.ever_counted();
        self.queue = QueueName::parse(&format!("q{}", self.round)).expect("a name");
        redis::cmd("FLUSHALL").exec(&mut self.eyes).expect("Redis forgets");
        if let Some(second) = &mut self.second {
            redis::cmd("FLUSHALL").exec(&mut second.eyes).expect("Redis forgets");
        }
    }

    /// The scripts as Redis has them: one library of functions.
    pub async fn library(&mut self) -> Library {
        self.handle.sweep_once(&self.queue).await.expect("swept");
        let mut list = redis::cmd("FUNCTION");
        let libraries: Vec<Vec<redis::Value>> = list.arg("LIST").arg("WITHCODE").query(&mut self.eyes).expect("a list");
        Library::of_list(libraries.first().expect("a library"))
    }

    /// The metric of transitions in this walk.
    pub fn counted(&self) -> BTreeMap<String, i64> {
        let of_this = |(word, n): (String, u64)| {
            let here = n - self.before.get(&word).unwrap_or(&0);
            (here > 0).then_some((word, here as i64))
        };
        self.ever_counted().into_iter().filter_map(of_this).collect()
    }

    fn ever_counted(&self) -> BTreeMap<String, u64> {
        let text = self.handle.figures().rendered();
        let counts = text.lines().filter_map(|line| {
            let labels = line.strip_prefix("intray_transitions_total{queue=\"other\",transition=\"")?;
            let (word, n) = labels.split_once("\"} ")?;
            Some((word.to_owned(), n.parse().expect("a count")))
        });
        counts.collect()
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn pass(&mut self, ms: u64) {
        self.now += ms;
        for engine in [Some(&self.engine), self.second.as_ref().map(|second| &second.engine)].into_iter().flatten() {
            engine.clock.stop_at(self.now);
        }
    }

    pub fn has_second(&self) -> bool {
        self.second.is_some()
    }

    /// Both servers have done the same, if that is compared.
    pub fn compare_servers(&self) -> Verdict {
        self.second.as_ref().map_or(Ok(()), |second| second.mirror.verdict())
    }

    /// How many calls were compared since it was last asked.
    pub fn compared_calls(&self) -> u64 {
        self.second.as_ref().map_or(0, |second| second.mirror.calls())
    }

    /// The keys in Redis, and the events since the last look.
    pub fn look(&mut self, last_event: &str) -> Result<Keyspace, String> {
        Keyspace::read(&mut self.eyes, &self.queue, last_event)
    }
}
