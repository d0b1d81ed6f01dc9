//! How a job comes into the queue.

use intray::{
    job::{Code, State},
    store::{HandoutCounts, Task},
};

use super::{Job, JobOptions, Queue, Routing};

impl Queue {
    pub fn store(&mut self, id: Code, task: &Task, priority: u8, client: &'static str) {
        let (stamp, options) = (self.stamp(), JobOptions::of(task, self.now));
        let job = Job {
            stamp,
            wanted_priority: priority,
            client,
            key: None,
            fingerprint: None,
            batch: None,
            mark: None,
            state: State::Delayed,
            priority,
            place: None,
            arrival: stamp,
            is_unserved: false,
            parked_at: None,
            at: options.due,
            options,
            jitter: 0,
            counts: HandoutCounts::default(),
            attempts: 0,
            hold: None,
            ring: Vec::new(),
            errors: Vec::new(),
            result: None,
            late: Vec::new(),
            draft: None,
            skips: Vec::new(),
            expires: None,
            sla: None,
            breached: false,
            is_cut_off: false,
            routing: task.routing.as_deref().map(Routing::of).unwrap_or_default(),
            is_routed: task.routing.is_some(),
        };
        self.jobs.insert(id, job);
        self.take_limits(id, task);
    }

    /// A new job goes where it belongs.
    pub fn line_up(&mut self, id: Code) {
        if self.jobs[&id].at <= self.now {
            self.ensure_place(id, Some(self.jobs[&id].stamp));
            self.start_fallback(id, self.now);
            self.ready(id);
        }
        self.tell("enqueued", id, "", "");
        self.count("enqueued");
    }
}
