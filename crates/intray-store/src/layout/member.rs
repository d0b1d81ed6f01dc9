//! A new job of a batch.

use super::task::Task;
use crate::{job::Priority, record_fields::INHERITED, sha256::Sha256};

#[derive(Debug, Clone)]
pub struct NewMember {
    pub task: Task,
    pub priority: Option<Priority>,
}

/// The mark of each job, by which a repeated call is recognized. It ignores the trace context.
pub(crate) fn marks(jobs: &[NewMember], salt: &[u8; 8]) -> Vec<[u8; 8]> {
    let mark = |job: &NewMember| {
        let mut hash = Sha256::default();
        hash.update(salt);
        hash.update([job.priority.map_or(INHERITED, Priority::get)]);
        let (has, rest) = Task { traceparent: None, ..job.task.clone() }.pack();
        hash.update(has.to_be_bytes());
        hash.update(format!("{:?}", job.task.delay));
        hash.update(rest);
        hash.update(job.task.route());
        hash.update(job.task.payload.as_str());
        let digest = hash.finalize();
        std::array::from_fn(|i| digest[i])
    };
    jobs.iter().map(mark).collect()
}
