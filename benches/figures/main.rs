//! The cost of a cycle in instructions, `make cost`; the guard of those figures, `make guard`; and what other callers
//! notice when very much expires at once, `cargo bench --bench figures -- tails`, or with a dead webhook, `-- webhooks`. `make bench` measures what depends on
//! the machine.

#![recursion_limit = "256"] // of types: what a task holds is proved to be Send through all of them

mod cost;
#[path = "../rig/mod.rs"]
#[expect(dead_code, reason = "the other bench uses the rest")]
mod rig;
mod tails;
mod webhooks;

use clap::{Parser, ValueEnum};
use rig::client;

#[derive(Parser)]
struct Asked {
    figures: Vec<Figures>,
    #[command(flatten)]
    cost: cost::Options,
    /// Cargo passes this to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Figures {
    /// Only on request: it needs valgrind and strace.
    Cost,
    Guard,
    Tails,
    /// What a dead webhook costs others.
    Webhooks,
}

/// On one thread, so that clients use little of the machine.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let asked = Asked::parse();
    for figures in asked.figures {
        match figures {
            Figures::Cost => cost::run(&asked.cost).await,
            Figures::Tails => tails::run(&asked.cost.engine).await,
            Figures::Webhooks => webhooks::run().await,
            Figures::Guard => cost::guard(&asked.cost).await,
        }
    }
}
