//! Work on many bytes.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// JSON of this size is read or written within milliseconds.
const MAX_BYTES_PER_POLL: usize = 1 << 20;

/// Works on this many bytes. If they are many, the other tasks of this thread move to another one first.
pub fn run<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || Handle::try_current().is_ok_and(|now| now.runtime_flavor() == RuntimeFlavor::MultiThread);
    if bytes > MAX_BYTES_PER_POLL && has_threads() { block_in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether another task of the only thread runs during work on this many bytes.
    async fn lets_others_run(bytes: usize) -> bool {
        tokio::spawn(async move {
            let (sender, receiver) = std::sync::mpsc::channel();
            tokio::spawn(async move { sender.send(()) });
            run(bytes, || {
                receiver.recv_timeout(std::time::Duration::from_secs(if bytes == 0 { 0 } else { 30 })).is_ok()
            })
        })
        .await
        .expect("it ends")
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_during_long_work() {
        assert!(lets_others_run(MAX_BYTES_PER_POLL + 1).await);
        assert!(!lets_others_run(0).await);
    }

    #[tokio::test]
    async fn long_work_is_done_without_other_threads() {
        assert_eq!(run(usize::MAX, || 7), 7);
    }
}
