//! undo: the caller of a reserve turns out to be gone, so what it newly reserved was never delivered.

use super::prelude::*;
use crate::reference::Hold;

/// A reserve whose caller may turn out to be gone: job and secret of each that it was given, and what gives them back.
pub type Unclear = (Vec<(Code, Code)>, store::Undo);

#[derive(Debug, Clone)]
pub struct Undo(Nth);

impl Operation for Undo {
    const OFTEN: Often = Often { everything: 8, few_jobs: 10, desk: 8, routing: 8, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &["event abandoned undelivered"];

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        nth().prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let places: Vec<_> = (0..walk.unclear.len()).collect();
        if let Some(place) = self.0.of(&places) {
            walk.give_up(*place).await;
        }
        Ok(())
    }
}

impl Walk<'_> {
    /// The caller is gone: the guard is dropped, and what it begins is waited for.
    pub async fn give_up(&mut self, place: usize) {
        let (taken, undo) = self.unclear.remove(place);
        drop(undo);
        self.real.handle.close().await;
        for (id, secret) in taken {
            self.note(|| format!("  undone: {}", self.short(id)));
            self.model.undo(id, &secret);
        }
    }
}

impl Queue {
    /// Unless another worker has it by now. A holder who left did receive it.
    fn undo(&mut self, id: Code, secret: &Code) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_held_by(secret)) else { return };
        let is_untouched =
            |hold: &Hold| hold.resumes == 0 && !hold.replayed && hold.grace.is_none() && hold.closing.is_none();
        let Some(hold) = job.hold.clone().filter(is_untouched) else { return };
        self.let_go(id, None);
        self.job(id).counts.handed_out -= 1;
        self.tell("abandoned", id, hold.worker, "undelivered");
        self.come_back(id);
    }
}
