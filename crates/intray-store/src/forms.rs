//! The forms of the queues in which this instance completes jobs, each read again when it may have changed.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use foldhash::HashMap;
use intray_base::waits::hurried;
use intray_form::Form;
use intray_redis::Fault;
use parking_lot::Mutex;

use crate::job::QueueName;

/// For how long a form counts after its read began.
const MAX_AGE: Duration = Duration::from_secs(2);
/// For how long a failed read counts after it ended: the completions that waited for it fail with it.
const FAULT_AGE: Duration = Duration::from_millis(100);
/// Above this many the cache is cleared.
const MAX_KNOWN: usize = 10_000;

/// A form, if the queue has one.
pub(crate) type KnownForm = Result<Option<Arc<Form>>, Fault>;

#[derive(Default)]
pub(crate) struct Forms {
    known: Mutex<HashMap<QueueName, Arc<FormSlot>>>,
}

/// It is locked during a read, so that concurrent completions share one.
type FormSlot = tokio::sync::Mutex<Option<FormRead>>;

struct FormRead {
    at: Instant,
    form: KnownForm,
}

impl FormRead {
    fn counts(&self) -> bool {
        self.at.elapsed() < if self.form.is_ok() { hurried(MAX_AGE) } else { FAULT_AGE }
    }
}

impl Forms {
    /// The form of a queue, which `read` reads unless that was done a moment ago.
    pub(crate) async fn of(&self, queue: &QueueName, read: impl AsyncFnOnce() -> KnownForm) -> KnownForm {
        let slot = self.slot(queue);
        let mut last = slot.lock().await;
        if let Some(last) = last.as_ref().filter(|last| last.counts()) {
            return last.form.clone();
        }
        let began = Instant::now();
        let form = read().await;
        let at = if form.is_ok() { began } else { Instant::now() };
        *last = Some(FormRead { at, form: form.clone() });
        form
    }

    /// The next completion reads the form of this queue.
    pub(crate) fn forget(&self, queue: &QueueName) {
        self.known.lock().remove(queue);
    }

    fn slot(&self, queue: &QueueName) -> Arc<FormSlot> {
        let mut known = self.known.lock();
        if let Some(slot) = known.get(queue) {
            return slot.clone();
        }
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.entry(queue.clone()).or_default().clone()
    }
}
