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

/// How long a form counts after its read began.
const MAX_AGE: Duration = Duration::from_secs(2);
/// How long a failed read counts after it ended: the completions that waited for it fail with it.
const FAULT_AGE: Duration = Duration::from_millis(100);
/// A form that no completion has needed for this long is dropped by the next one of any queue.
const IDLE: Duration = Duration::from_secs(60);
/// Above this many, or this many bytes, the cache is cleared.
const MAX_KNOWN: usize = 10_000;
const MAX_BYTES: usize = 64 << 20;

/// A form, and what distinguishes it from others.
pub(crate) struct KnownForm {
    pub(crate) digest: String,
    pub(crate) form: Form,
    /// About how many bytes it takes.
    pub(crate) size: usize,
}

/// A form, if the queue has one.
pub(crate) type ReadForm = Result<Option<Arc<KnownForm>>, Fault>;

#[derive(Clone)]
pub(crate) struct FormRead {
    pub(crate) began: Instant,
    ended: Instant,
    pub(crate) form: ReadForm,
}

/// The last read, and the last form that was parsed.
#[derive(Default)]
struct FormState {
    read: Option<FormRead>,
    parsed: Option<Arc<KnownForm>>,
}

/// It is locked during a read, so that concurrent completions share one.
type FormSlot = tokio::sync::Mutex<FormState>;

#[derive(Default)]
pub(crate) struct Forms {
    known: Mutex<FormSlots>,
}

#[derive(Default)]
struct FormSlots {
    by_queue: HashMap<QueueName, KnownSlot>,
    swept: Option<Instant>,
}

struct KnownSlot {
    slot: Arc<FormSlot>,
    /// The time of the last completion.
    asked: Instant,
    size: usize,
}

/// Whether a form that was read then may still be used.
pub(crate) fn is_current(began: Instant) -> bool {
    began.elapsed() < hurried(MAX_AGE)
}

impl FormRead {
    /// Whether it is young, or began after a caller came.
    fn serves(&self, came: Instant) -> bool {
        let is_young = if self.form.is_ok() { is_current(self.began) } else { self.ended.elapsed() < FAULT_AGE };
        is_young || self.began >= came
    }
}

impl Forms {
    /// The form of a queue, as a read has found it that began a moment ago, or after this call. `read` is given the last form that was
    /// parsed. Callers that wait for one read share the next, however long that takes, so each waits for two at most.
    pub(crate) async fn of(
        &self,
        queue: &QueueName,
        read: impl AsyncFnOnce(Option<Arc<KnownForm>>) -> ReadForm,
    ) -> FormRead {
        let came = Instant::now();
        let slot = self.slot(queue, came);
        let mut state = slot.lock().await;
        if let Some(last) = state.read.as_ref().filter(|last| last.serves(came)) {
            return last.clone();
        }
        let began = Instant::now();
        let form = read(state.parsed.clone()).await;
        if let Ok(known) = &form {
            if known.as_ref().map(Arc::as_ptr) != state.parsed.as_ref().map(Arc::as_ptr) {
                self.weigh(queue, known.as_ref().map_or(0, |known| known.size));
            }
            state.parsed.clone_from(known);
        }
        let read = FormRead { began, ended: Instant::now(), form };
        state.read = Some(read.clone());
        read
    }

    /// When the last read began, if it counts and has found no form. It waits for nothing.
    pub(crate) fn none_since(&self, queue: &QueueName) -> Option<Instant> {
        let slot = self.slot(queue, Instant::now());
        let state = slot.try_lock().ok()?;
        let read = state.read.as_ref()?;
        (matches!(read.form, Ok(None)) && is_current(read.began)).then_some(read.began)
    }

    /// The next completion reads the form of this queue.
    pub(crate) fn forget(&self, queue: &QueueName) {
        self.known.lock().by_queue.remove(queue);
    }

    fn weigh(&self, queue: &QueueName, size: usize) {
        let mut known = self.known.lock();
        if let Some(slot) = known.by_queue.get_mut(queue) {
            slot.size = size;
        }
        if known.by_queue.values().map(|slot| slot.size).sum::<usize>() > MAX_BYTES {
            known.by_queue.clear();
        }
    }

    fn slot(&self, queue: &QueueName, now: Instant) -> Arc<FormSlot> {
        let mut known = self.known.lock();
        if now.saturating_duration_since(*known.swept.get_or_insert(now)) >= IDLE {
            known.by_queue.retain(|_, slot| now.saturating_duration_since(slot.asked) < IDLE);
            known.swept = Some(now);
        }
        if let Some(known) = known.by_queue.get_mut(queue) {
            known.asked = now;
            return known.slot.clone();
        }
        if known.by_queue.len() >= MAX_KNOWN {
            known.by_queue.clear();
        }
        let slot = Arc::<FormSlot>::default();
        known.by_queue.insert(queue.clone(), KnownSlot { slot: slot.clone(), asked: now, size: 0 });
        slot
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use intray_form::Owner;

    use super::*;

    fn parsed(digest: &str) -> Arc<KnownForm> {
        let form = Form::parse(r#"{"type":"object","properties":{}}"#, Owner::Queue).expect("a form");
        Arc::new(KnownForm { digest: digest.to_owned(), form, size: MAX_BYTES / 4 })
    }

    fn queue(name: &str) -> QueueName {
        QueueName::parse(name).expect("a name")
    }

    /// Moves what is known of a queue into the past.
    async fn age(forms: &Forms, by: Duration) {
        let slot = forms.slot(&queue("a"), Instant::now());
        let mut state = slot.lock().await;
        let read = state.read.as_mut().expect("a read");
        (read.began, read.ended) = (read.began - by, read.ended - by);
    }

    #[test]
    fn read_of_any_length_serves_those_that_waited_for_it() {
        let now = Instant::now();
        let [came, began, later] = [20, 10, 9].map(|seconds| now - Duration::from_secs(seconds));
        let read = |form| FormRead { began, ended: began, form };
        for form in [Ok(None), Err(Fault::unavailable(&"away"))] {
            let read = read(form);
            assert!(read.serves(came) && !read.serves(later));
        }
        assert!(FormRead { began: now, ..read(Ok(None)) }.serves(now + MAX_AGE));
    }

    #[tokio::test]
    async fn callers_at_once_share_a_read() {
        let (forms, name, reads) = (Forms::default(), queue("a"), AtomicUsize::new(0));
        let ask = async || {
            let read = forms.of(&name, async |_| {
                reads.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok(Some(parsed("one")))
            });
            read.await.form.is_ok()
        };
        let (first, second, third) = tokio::join!(ask(), ask(), ask());
        assert!(first && second && third);
        assert_eq!(reads.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn form_is_read_again_when_it_is_too_old() {
        let (forms, name) = (Forms::default(), queue("a"));
        let ask = async |found: &str| {
            let mut given = None;
            let read = forms.of(&name, async |known| {
                given = Some(known.map(|known| known.digest.clone()));
                Ok(Some(parsed(found)))
            });
            let digest = read.await.form.expect("a form").expect("a form").digest.clone();
            (digest, given)
        };
        assert_eq!(ask("one").await, ("one".to_owned(), Some(None)));
        assert_eq!(ask("two").await, ("one".to_owned(), None), "it is young");
        age(&forms, MAX_AGE).await;
        assert_eq!(ask("two").await, ("two".to_owned(), Some(Some("one".to_owned()))), "the last one is given");
        forms.forget(&queue("a"));
        assert_eq!(ask("three").await, ("three".to_owned(), Some(None)));
    }

    #[tokio::test]
    async fn failed_read_counts_for_those_that_waited() {
        let forms = Forms::default();
        let failed = forms.of(&queue("a"), async |_| Err(Fault::unavailable(&"away"))).await;
        assert!(failed.form.is_err());
        assert!(forms.of(&queue("a"), async |_| Ok(None)).await.form.is_err());
        age(&forms, FAULT_AGE).await;
        assert!(forms.of(&queue("a"), async |_| Ok(None)).await.form.is_ok());
    }

    #[tokio::test]
    async fn forms_of_too_many_bytes_are_dropped() {
        let forms = Forms::default();
        let mut counts = Vec::new();
        for name in ["a", "b", "c", "d", "e"] {
            let _ = forms.of(&queue(name), async |_| Ok(Some(parsed(name)))).await;
            counts.push(forms.known.lock().by_queue.len());
        }
        assert_eq!(counts, [1, 2, 3, 4, 0]);
    }

    #[test]
    fn forms_that_are_not_needed_are_dropped() {
        let (forms, start) = (Forms::default(), Instant::now());
        let known = |after: Duration, name: &str| {
            forms.slot(&queue(name), start + after);
            forms.known.lock().by_queue.len()
        };
        assert_eq!(known(Duration::ZERO, "a"), 1);
        assert_eq!(known(IDLE / 2, "b"), 2);
        assert_eq!(known(IDLE, "c"), 2, "without a");
        assert_eq!(known(IDLE * 2, "c"), 1, "one that is known is enough");
    }
}
