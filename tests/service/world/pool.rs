//! Redis servers that one story leaves to the next, because it has changed nothing but keys and the clock.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;
use tokio::time::timeout;

use super::{Engine, children::PATIENCE, instance::End};

static POOL: Mutex<Vec<Server>> = Mutex::new(Vec::new());

struct Server {
    engine: Engine,
    /// Services inside this process that use it.
    services: Vec<End>,
    /// Its folder, removed after it.
    _home: TempDir,
}

/// A story's Redis. The next story gets it, unless this one fails or changes more than keys and the clock.
pub struct Lease {
    server: Option<Server>,
    services: Mutex<Vec<End>>,
}

impl Lease {
    /// An empty Redis with the usual settings.
    pub async fn usual() -> Self {
        while let Some(server) = next() {
            if let Some(server) = cleared(server).await {
                return Self::of(server);
            }
        }
        let home = folder();
        let engine = Engine::start(home.path(), false).await;
        Self::of(Server { engine, services: Vec::new(), _home: home })
    }

    /// A Redis with settings of its own, which no other story gets.
    pub fn own(engine: Engine, home: TempDir) -> Self {
        engine.mark_altered();
        Self::of(Server { engine, services: Vec::new(), _home: home })
    }

    fn of(server: Server) -> Self {
        Self { server: Some(server), services: Mutex::default() }
    }

    /// The next story waits for the end of this service.
    pub fn outlives(&self, service: End) {
        self.services.lock().unwrap_or_else(PoisonError::into_inner).push(service);
    }
}

fn next() -> Option<Server> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

/// None if a service did not end well, or Redis does not answer.
async fn cleared(mut server: Server) -> Option<Server> {
    for service in server.services.drain(..) {
        if !matches!(timeout(PATIENCE, service).await, Ok(Ok(Ok(())))) {
            return None;
        }
    }
    server.engine.clear().await.then_some(server)
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        server.services = std::mem::take(&mut *self.services.lock().unwrap_or_else(PoisonError::into_inner));
        if !std::thread::panicking() && server.engine.is_clean() {
            POOL.lock().unwrap_or_else(PoisonError::into_inner).push(server);
        }
    }
}

impl Deref for Lease {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.server.as_ref().expect("until it is dropped").engine
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Engine {
        &mut self.server.as_mut().expect("until it is dropped").engine
    }
}

pub fn folder() -> TempDir {
    tempfile::Builder::new().prefix("intray-").tempdir().expect("a temporary folder")
}
