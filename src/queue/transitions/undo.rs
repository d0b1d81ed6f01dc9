//! undo: the caller of a reserve is gone, so what it newly reserved was never delivered.

use std::sync::Arc;

use redis::Value;

use crate::job::{Code, QueueName};
use crate::queue::{Inner, lanes, layout::record::Live, redis::link::Args, redis::read};

/// What a call newly reserved. Dropped before [`Undo::disarm`], it gives the jobs back: nobody has seen them.
#[derive(Default)]
pub struct Undo(Vec<Taken>);

struct Taken {
    inner: Arc<Inner>,
    queue: QueueName,
    /// Each job, and the secret of its reservation.
    jobs: Vec<(Code, Code)>,
}

impl std::fmt::Debug for Undo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Undo({})", self.0.len())
    }
}

impl Undo {
    /// The answer is with its caller.
    pub fn disarm(mut self) {
        self.0.clear();
    }

    /// For the jobs of a script's answer, if they are newly reserved.
    pub(crate) fn of(inner: &Arc<Inner>, queue: &QueueName, item: &Value) -> Option<Self> {
        let Value::Array(parts) = item else { return None };
        let (word, jobs) = parts.split_first()?;
        if read::word(word) != Some("new") {
            return None;
        }
        let taken = jobs.iter().map(|job| {
            let mut fields = read::Fields::of(job.clone()).ok()?;
            let code = fields.code().ok()?;
            fields.skip();
            fields.skip();
            Some((code, Live::parse(&fields.bytes().ok()?).ok()?.hold?.secret))
        });
        let jobs: Vec<_> = taken.collect::<Option<_>>()?;
        let taken = Taken { inner: inner.clone(), queue: queue.clone(), jobs };
        (!taken.jobs.is_empty()).then(|| Self(vec![taken]))
    }

    pub(crate) fn join(&mut self, other: Option<Self>) {
        if let Some(mut other) = other {
            self.0.append(&mut other.0);
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for taken in self.0.drain(..) {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            let tasks = taken.inner.tasks.clone();
            tasks.spawn_on(give_back(taken), &runtime);
        }
    }
}

async fn give_back(taken: Taken) {
    let script = &taken.inner.scripts.undo;
    let keys = taken.inner.keys_of(script, &taken.queue);
    let mut left = taken.jobs.as_slice();
    while !left.is_empty() {
        let mut args = Args::default();
        for (code, secret) in left {
            args.push(code.as_str()).push(secret.as_str());
        }
        // If this fails too, the deadline gives the jobs back.
        let Ok(Value::Array(answers)) = lanes::run(&taken.inner, script, &taken.queue, &keys, &args).await else {
            return;
        };
        // Those at the end that did not fit are for the next script.
        let done = answers.iter().take_while(|answer| read::word(answer) != Some("later")).count();
        if done == 0 {
            return;
        }
        left = &left[done.min(left.len())..];
    }
    tracing::debug!(queue = %taken.queue, jobs = taken.jobs.len(), "a caller was gone, its jobs are back");
}
