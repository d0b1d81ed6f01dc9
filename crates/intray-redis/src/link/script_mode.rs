//! How scripts are called at this Redis: as functions of one library, or by EVALSHA and EVAL. The library costs least; where
//! Redis refuses it, at `maxmemory` for example, the scripts do the same work.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use redis::{RedisError, Value};
use tokio::sync::Mutex;

use super::{
    CallError, Link,
    error::{is_not_loaded, refuses_functions, refuses_library},
    route::Route,
};
use crate::{
    fault::{Applied, Fault},
    script::{Library, ScriptCall},
};

/// With the feature `scripts-only` every call goes by EVALSHA, as the tests need it.
const USES_LIBRARY: bool = !cfg!(feature = "scripts-only");

pub(super) struct ScriptMode {
    pub(super) library: Arc<Library>,
    is_refused: AtomicBool,
    /// When the library was last loaded; locked meanwhile, so that concurrent callers load it once.
    loaded: Mutex<Option<Instant>>,
}

impl ScriptMode {
    pub(super) fn new(library: Arc<Library>) -> Self {
        Self { library, is_refused: AtomicBool::new(!USES_LIBRARY), loaded: Mutex::default() }
    }

    pub(super) fn is_library(&self) -> bool {
        !self.is_refused.load(Ordering::Relaxed)
    }

    fn refuse(&self, why: &RedisError) {
        if !self.is_refused.swap(true, Ordering::Relaxed) {
            let why = why.to_string();
            tracing::warn!(
                why,
                "Redis does not take the library of functions: scripts are sent instead, and cost more"
            );
        }
    }

    fn accept(&self) {
        if self.is_refused.swap(false, Ordering::Relaxed) {
            tracing::info!("Redis takes the library of functions: scripts are no longer sent");
        }
    }
}

impl Link {
    /// Calls a script. If Redis does not know it, nothing was run: it is loaded and called again.
    pub(super) async fn call(&self, route: Route<'_>, call: ScriptCall<'_>) -> Result<Value, CallError> {
        self.try_call(route, call).await.inspect(|_| self.mark_found())
    }

    async fn try_call(&self, route: Route<'_>, call: ScriptCall<'_>) -> Result<Value, CallError> {
        if self.mode.is_library() {
            match self.call_function(route, &call.command("FCALL", call.script.function())).await {
                Err(CallError::Redis(e)) if is_not_loaded(&e) => {}
                Err(CallError::Redis(e)) if refuses_functions(&e) => self.mode.refuse(&e),
                answer => return answer,
            }
        }
        let source = call.script.source();
        match self.send(route, &call.command("EVALSHA", source.sha)).await {
            Err(CallError::Redis(e)) if is_not_loaded(&e) => self.send(route, &call.command("EVAL", source.code)).await,
            answer => answer,
        }
    }

    async fn call_function(&self, route: Route<'_>, command: &redis::Cmd) -> Result<Value, CallError> {
        let start = Instant::now();
        match self.send(route, command).await {
            Err(CallError::Redis(e)) if is_not_loaded(&e) => match Box::pin(self.load_library(start)).await? {
                true => self.send(route, command).await,
                false => Err(e.into()),
            },
            answer => answer,
        }
    }

    /// Loads the library, unless another call has loaded it since `start`; returns whether Redis has it.
    async fn load_library(&self, start: Instant) -> Result<bool, Fault> {
        let mut loaded = self.mode.loaded.lock().await;
        if loaded.is_some_and(|at| at > start) {
            return Ok(self.mode.is_library());
        }
        let answer = self.send(Route::ANY, redis::cmd("FUNCTION").arg("LOAD").arg(&self.mode.library.code)).await;
        *loaded = Some(Instant::now());
        match answer {
            Ok(_) => Ok(true),
            // Another instance was faster.
            Err(CallError::Redis(e)) if e.detail().is_some_and(|message| message.ends_with("already exists")) => {
                Ok(true)
            }
            Err(CallError::Redis(e)) if refuses_library(&e) => {
                self.mode.refuse(&e);
                Ok(false)
            }
            // The call itself has not been sent.
            Err(other) => Err(other.into_fault().with(Applied::No)),
        }
    }

    /// From now on scripts are called in this mode, without a line in the log. For tests.
    pub(crate) fn use_library(&self, is_used: bool) {
        self.mode.is_refused.store(!is_used, Ordering::Relaxed);
    }

    /// Calls the library, so that the first caller does not wait until its modules are built; a library that was refused is
    /// offered again.
    pub(crate) async fn try_library(&self) {
        if !USES_LIBRARY {
            return;
        }
        match self.call_function(Route::ANY, &self.mode.library.probe).await {
            Ok(_) => self.mode.accept(),
            // The probe's key is at another node of the cluster; this one only needs the library.
            Err(CallError::Redis(e)) if e.code() == Some("MOVED") => {
                if let Ok(true) = self.load_library(Instant::now()).await {
                    self.mode.accept();
                }
            }
            Err(CallError::Redis(e)) if refuses_functions(&e) => self.mode.refuse(&e),
            // Other errors are reported by health checks.
            Err(_) => {}
        }
    }
}
