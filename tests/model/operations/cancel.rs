//! cancel: a producer takes a job back.

use intray::store::Cancellation;

use super::prelude::*;

#[derive(Debug, Clone)]
pub struct Cancel {
    job: Which,
    force: bool,
}

impl Operation for Cancel {
    const OFTEN: Often = Often { everything: 8, few_jobs: 3, desk: 4, routing: 4, many: 0 };

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let job = prop_oneof![which(State::Waiting), which(State::Reserved), which(State::Blocked)];
        let force = match theme {
            Theme::FewJobs => Just(false).boxed(),
            Theme::Everything | Theme::Lists | Theme::Desk | Theme::Routing | Theme::Many => any::<bool>().boxed(),
        };
        (job, force).prop_map(|(job, force)| Self { job, force }).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let id = walk.which(self.job);
        let answer = walk.real.handle.cancel(id.clone(), self.force, &store::Actor::default()).await;
        walk.answered("cancel", answer, |model| model.cancel(id.code, self.force))
    }
}

impl Queue {
    fn cancel(&mut self, id: Code, force: bool) -> Cancellation {
        if !self.jobs.contains_key(&id) {
            return Cancellation::UnknownJob;
        }
        self.lapse(id);
        self.end_batches();
        let job = &self.jobs[&id];
        match job.state {
            State::Cancelled => return Cancellation::Cancelled,
            State::Completed => return Cancellation::WrongState(State::Completed),
            State::Dead if self.is_kept(id) => return Cancellation::WrongState(State::Dead),
            State::Reserved if !force => return Cancellation::WrongState(State::Reserved),
            _ => {}
        }
        if job.closing().is_some() {
            self.expire(id);
            return Cancellation::WrongState(State::Completed);
        }
        let worker = if job.hold.is_some() { job.worker() } else { "" };
        if self.jobs[&id].hold.is_some() {
            self.let_go(id, Some(How::CANCELLED));
        }
        self.cancel_now(id, worker);
        Cancellation::Cancelled
    }
}
