//! What keeps the jobs, and how that can break: the seam for more than one Redis.

use std::{
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    time::Duration,
};

use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::{
    editing::{Edit, Editor},
    load::Chance,
    world::Engine,
};

pub type Work<'t, T = ()> = Pin<Box<dyn Future<Output = T> + 't>>;

pub trait Topology: Send + Sync + 'static {
    /// Where the instances find it.
    fn socket(&self) -> PathBuf;

    /// For sockets of those in between.
    fn folder(&self) -> &Path;

    /// Breaks something, and mends it; answers what, or nothing while it is broken anyway.
    fn strike<'t>(&'t self, chance: &'t mut Chance) -> Work<'t, Option<String>>;

    /// So many ms pass on the clock that counts.
    fn pass(&self, ms: u64) -> Work<'_>;

    fn stop(&self) -> Work<'_>;
}

/// One Redis, which answers when what it wrote is on disk.
pub struct One {
    engine: Mutex<Engine>,
    socket: PathBuf,
    _editor: Option<Editor>,
    folder: TempDir,
}

/// What is done to it, as often against the others.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Freeze,
    KillClients,
    FlushFunctions,
    FlushScripts,
    Fill,
}

const FAULTS: [Fault; 9] = [
    Fault::Kill,
    Fault::Freeze,
    Fault::KillClients,
    Fault::KillClients,
    Fault::FlushFunctions,
    Fault::FlushFunctions,
    Fault::FlushScripts,
    Fault::FlushScripts,
    Fault::Fill,
];

impl One {
    pub async fn start(edits: &[Edit]) -> Self {
        let folder = tempfile::Builder::new().prefix("intray-").tempdir().expect("a temporary folder");
        let engine = Engine::keeping(folder.path(), &["--appendonly", "yes", "--appendfsync", "always"]).await;
        let editor = (!edits.is_empty()).then(|| Editor::start(folder.path(), engine.socket(), edits));
        let socket = editor.as_ref().map_or(engine.socket(), |editor| editor.socket.clone());
        Self { engine: Mutex::new(engine), socket, _editor: editor, folder }
    }
}

impl Topology for One {
    fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn strike<'t>(&'t self, chance: &'t mut Chance) -> Work<'t, Option<String>> {
        Box::pin(async {
            let mut engine = self.engine.try_lock().ok()?;
            let fault = *chance.one(&FAULTS);
            suffer(&mut engine, fault, chance).await;
            Some(format!("Redis: {fault:?}"))
        })
    }

    fn pass(&self, ms: u64) -> Work<'_> {
        Box::pin(async move { self.engine.lock().await.clock.advance(i64::try_from(ms).unwrap_or(0)) })
    }

    fn stop(&self) -> Work<'_> {
        Box::pin(async { self.engine.lock().await.kill() })
    }
}

async fn suffer(engine: &mut Engine, fault: Fault, chance: &mut Chance) {
    match fault {
        Fault::Kill => {
            engine.kill();
            chance.rest(1_000).await;
            engine.revive().await;
        }
        Fault::Freeze => {
            engine.freeze();
            chance.rest(3_000).await;
            engine.thaw();
        }
        Fault::KillClients => tell(engine, "CLIENT KILL TYPE normal").await,
        Fault::FlushFunctions => tell(engine, "FUNCTION FLUSH").await,
        Fault::FlushScripts => tell(engine, "SCRIPT FLUSH").await,
        Fault::Fill => {
            tell(engine, "CONFIG SET maxmemory 1mb").await;
            chance.rest(1_500).await;
            tell(engine, "CONFIG SET maxmemory 0").await;
        }
    }
}

/// Until it is done: what was filled must not stay full.
async fn tell(engine: &Engine, words: &str) {
    let mut command = redis::Cmd::new();
    for word in words.split(' ') {
        command.arg(word);
    }
    for _ in 0..100 {
        if command.query_async::<redis::Value>(&mut engine.connection()).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{words}: Redis does not do it");
}
