//! What producers, operators and the background task do, on both.

use intray::{
    job::State,
    queue::{Meant, Purge, Release, Released, Requeue},
};

use super::{Walk, broken};
use crate::{
    ops::{Setting, Which},
    words::{Verdict, WORKERS, name, priority, same},
};

impl Walk<'_> {
    pub(super) async fn cancel(&mut self, job: Which, force: bool) -> Verdict {
        let id = self.which(job);
        let answer = self.real.handle.cancel(id.clone(), force).await.map_err(broken)?;
        self.met(format!("cancel {answer:?}"));
        same("cancel answers", &answer, &self.model.cancel(id.code, force))
    }

    pub(super) async fn release_job(&mut self, job: Which) -> Verdict {
        let id = self.which(job);
        let answer = self.real.handle.release(Release::Job(id.clone())).await.map_err(broken)?;
        self.met(format!("release {answer:?}"));
        let expected = self.model.release(id.code).map(|released| Released { released, more: false });
        same("release answers", &answer, &expected)
    }

    pub(super) async fn release_worker(&mut self, worker: usize) -> Verdict {
        let worker = WORKERS[worker];
        let release = Release::Worker(self.real.queue.clone(), name(worker).ok_or("a worker")?);
        let answer = self.real.handle.release(release).await.map_err(broken)?;
        let expected = Released { released: self.model.release_worker(worker), more: false };
        same("release of a worker answers", &answer, &Some(expected))
    }

    pub(super) async fn requeue_job(&mut self, job: Which) -> Verdict {
        let id = self.which(job);
        let answer = self.real.handle.requeue(Requeue::Job(id.clone())).await.map_err(broken)?;
        self.met(format!("requeue {answer:?}"));
        same("requeue answers", &answer, &self.model.requeue(id.code))
    }

    pub(super) async fn requeue_all(&mut self) -> Verdict {
        let answer = self
            .real
            .handle
            .requeue(Requeue::Queue(self.real.queue.clone(), Meant::default(), None))
            .await
            .map_err(broken)?;
        same("requeue of all answers", &answer, &self.model.requeue_all())
    }

    pub(super) async fn reprioritize(&mut self, job: Which, to: u8) -> Verdict {
        let id = self.which(job);
        let answer = self.real.handle.reprioritize(id.clone(), priority(to)).await.map_err(broken)?;
        self.met(format!("reprioritize {answer:?}"));
        same("reprioritize answers", &answer, &self.model.reprioritize(id.code, to))
    }

    pub(super) async fn purge(&mut self, state: Option<State>, force: bool) -> Verdict {
        let purge = Purge { queue: self.real.queue.clone(), state, force, meant: Meant::default(), after: None };
        let answer = self.real.handle.purge(purge).await.map_err(broken)?;
        same("purge answers", &answer, &self.model.purge(state, force))
    }

    pub(super) async fn sweep(&mut self) -> Verdict {
        let due = self.real.handle.next_due(&self.real.queue).await.map_err(broken)?;
        let expected = self.model.moments().first().map(|at| at.saturating_sub(self.model.now));
        same("when the sweep is due", &due, &expected)?;
        let answer = self.real.handle.sweep(&self.real.queue).await.map_err(broken)?;
        let batches = self.model.batches.len();
        let expected = self.model.sweep();
        if self.model.batches.len() < batches {
            self.met("sweep forgot a batch".to_owned());
        } else if expected.forgotten > 0 {
            self.met("sweep forgot jobs".to_owned());
        }
        same("sweep answers", &answer, &expected)
    }

    pub(super) async fn retire(&mut self) -> Verdict {
        self.real.handle.retire_unseen().await.map_err(broken)?;
        let was_there = self.model.registered.is_some();
        self.model.retire();
        if was_there && self.model.registered.is_none() {
            self.met("retired".to_owned());
            // The stream went too; another may count the same millisecond anew.
            "0-0".clone_into(&mut self.last_event);
        }
        Ok(())
    }

    pub(super) async fn set(&mut self, setting: Setting) -> Verdict {
        let answer = self.real.handle.set(&self.real.queue, setting.patch()).await.map_err(broken)?;
        self.model.set(setting);
        self.compare_info(&answer.ok_or("there is no bound on queues here")?)
    }
}
