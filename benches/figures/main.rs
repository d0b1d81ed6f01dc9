//! The figures of the README: `cargo bench` for all, `cargo bench -- cycle`, `-- memory` or `-- waiters` for one.

mod cycle;
mod memory;
mod rig;
mod waiters;

/// On one thread: what the clients use is not the service's.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let wanted: Vec<_> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if is_wanted("cycle") {
        cycle::run().await;
    }
    if is_wanted("memory") {
        memory::run().await;
    }
    if is_wanted("waiters") {
        waiters::run().await;
    }
}
