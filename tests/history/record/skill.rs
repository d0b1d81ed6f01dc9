//! The skills of the workers, which a worker has in each of its calls.

/// How many skills there are.
const SKILLS: u64 = 4;

/// The one skill of a worker, by the number in its name.
pub fn skill_of(worker: &str) -> Option<String> {
    let n: u64 = worker.strip_prefix("worker ")?.parse().ok()?;
    Some(format!("skill {}", n % SKILLS))
}
