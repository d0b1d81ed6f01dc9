//! Which form the scripts have in this Redis: functions of one library, or the same files as scripts, each sent for itself.
//! The library costs a call least; where it may not be loaded, at `maxmemory` for one, the scripts do the same work.

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
    Args, Link, Sent,
    faults::{is_unknown, is_unloadable, not_done, refuses_calls},
    node::Way,
};
use crate::store::{
    fault::Fault,
    script::{Library, Script, Scripts},
};

/// Without it every call goes as a script, which the tests want once.
const IS_ALLOWED: bool = !cfg!(feature = "scripts-only");

pub(super) struct Form {
    library: Arc<Library>,
    /// A call that does nothing, and builds the library's modules where that has not been done.
    probe: redis::Cmd,
    is_refused: AtomicBool,
    /// When the library was last sent: a crowd that misses it sends it once.
    sent: Mutex<Option<Instant>>,
}

impl Form {
    /// The probe is a look at a queue that is never there.
    pub(super) fn new(scripts: &Scripts, nowhere: &str) -> Self {
        let look = scripts.named("due", false);
        let mut keys = Args::default();
        look.keys.iter().for_each(|_| _ = keys.push(nowhere));
        let probe = super::command("FCALL", &look.function, &keys, &[]);
        Self {
            library: scripts.library.clone(),
            probe,
            is_refused: AtomicBool::new(!IS_ALLOWED),
            sent: Mutex::default(),
        }
    }

    /// For another server.
    pub(super) fn fresh(&self) -> Self {
        Self {
            library: self.library.clone(),
            probe: self.probe.clone(),
            is_refused: AtomicBool::new(!IS_ALLOWED),
            sent: Mutex::default(),
        }
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

    fn take(&self) {
        if self.is_refused.swap(false, Ordering::Relaxed) {
            tracing::info!("Redis takes the library of functions: scripts are not sent any more");
        }
    }
}

impl Link {
    /// Calls a script in the form that is there. That Redis does not know it reaches no caller: nothing has happened then.
    pub(super) async fn call(
        &self,
        way: Way<'_>,
        script: &Script,
        keys: &Args,
        items: &[&Args],
    ) -> Result<Value, Sent> {
        if self.form.is_library() {
            match self.call_function(way, &super::command("FCALL", &script.function, keys, items)).await {
                Err(Sent::Error(e)) if is_unknown(&e) => {}
                Err(Sent::Error(e)) if refuses_calls(&e) => self.form.refuse(&e),
                answer => return answer,
            }
        }
        let alone = script.alone();
        match self.send(way, &super::command("EVALSHA", &alone.sha, keys, items)).await {
            Err(Sent::Error(e)) if is_unknown(&e) => {
                self.send(way, &super::command("EVAL", &alone.text.code, keys, items)).await
            }
            answer => answer,
        }
    }

    /// Once more when the library was not there and is now.
    async fn call_function(&self, way: Way<'_>, call: &redis::Cmd) -> Result<Value, Sent> {
        let begin = Instant::now();
        match self.send(way, call).await {
            Err(Sent::Error(e)) if is_unknown(&e) => match Box::pin(self.load(begin)).await {
                Ok(true) => self.send(way, call).await,
                Ok(false) => Err(Sent::Error(e)),
                Err(fault) => Err(Sent::Fault(fault)),
            },
            answer => answer,
        }
    }

    /// Sends the library, unless somebody has since the given time; answers whether it is there.
    async fn load(&self, begin: Instant) -> Result<bool, Fault> {
        let mut sent = self.form.sent.lock().await;
        if sent.is_some_and(|at| at > begin) {
            return Ok(self.form.is_library());
        }
        let answer = self.send(Way::ANY, redis::cmd("FUNCTION").arg("LOAD").arg(&self.form.library.text.code)).await;
        *sent = Some(Instant::now());
        match answer {
            Ok(_) => Ok(true),
            // Another instance was faster.
            Err(Sent::Error(e)) if e.detail().is_some_and(|said| said.ends_with("already exists")) => Ok(true),
            Err(Sent::Error(e)) if is_unloadable(&e) => {
                self.form.refuse(&e);
                Ok(false)
            }
            Err(other) => Err(not_done(other.fault())),
        }
    }

    /// From now on calls go out in this form, without a word about it.
    #[cfg(test)]
    pub(in crate::store) fn use_library(&self, is_used: bool) {
        self.form.is_refused.store(!is_used, Ordering::Relaxed);
    }

    /// Calls the library, lest the first caller waits for its modules to be built; where it was refused, to see whether it
    /// still is.
    pub(in crate::store) async fn try_library(&self) {
        if !IS_ALLOWED {
            return;
        }
        match self.call_function(Way::ANY, &self.form.probe).await {
            Ok(_) => self.form.take(),
            // Another node of the cluster has the key that it looks at; of this one is wanted that it has the library.
            Err(Sent::Error(e)) if e.code() == Some("MOVED") => {
                if let Ok(true) = self.load(Instant::now()).await {
                    self.form.take();
                }
            }
            Err(Sent::Error(e)) if refuses_calls(&e) => self.form.refuse(&e),
            // What else is wrong with Redis, others say.
            Err(_) => {}
        }
    }
}
