//! One Redis, which answers when its writes are on disk.

use std::path::PathBuf;

use tempfile::TempDir;
use tokio::sync::Mutex;

use super::{Reach, TROUBLES, Topology, Trouble, Work, socket, temporary, trouble};
use crate::{
    load::Chance,
    patch_scripts::{Edit, Editor},
    wire::{Place, Wire},
    world::Engine,
};

pub struct One {
    engine: Mutex<Engine>,
    socket: PathBuf,
    _editor: Option<Editor>,
    folder: TempDir,
}

/// Faults of the server.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Freeze,
    Trouble(Trouble),
}

impl One {
    pub async fn start(edits: &[Edit]) -> Self {
        let folder = temporary();
        let engine = Engine::start_with_args(folder.path(), &["--appendonly", "yes", "--appendfsync", "always"]).await;
        let editor = (!edits.is_empty()).then(|| Editor::start(folder.path(), engine.socket(), edits));
        let socket = editor.as_ref().map_or(engine.socket(), |editor| editor.socket.clone());
        Self { engine: Mutex::new(engine), socket, _editor: editor, folder }
    }
}

impl Topology for One {
    fn reach(&self, instance: usize) -> Work<'_, Reach> {
        Box::pin(async move {
            let here = socket(self.folder.path(), instance);
            let wire = Wire::start(&here, Place::Socket(self.socket.clone())).await;
            let Place::Socket(path) = here else { unreachable!("a socket") };
            let flags = ["--redis-url".to_owned(), format!("unix://{}", path.display())].to_vec();
            Reach { flags, wires: vec![wire] }
        })
    }

    fn strike<'t>(&'t self, chance: &'t mut Chance) -> Work<'t, Option<String>> {
        Box::pin(async {
            let mut engine = self.engine.try_lock().ok()?;
            let fault = match chance.up_to(8) {
                0 => Fault::Kill,
                1 => Fault::Freeze,
                _ => Fault::Trouble(*chance.one(&TROUBLES)),
            };
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
        Fault::Trouble(what) => trouble(engine.connection(), what, chance).await,
    }
}
