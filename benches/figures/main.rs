//! What a cycle costs in instructions, `make cost`; that and more held against what is kept, `make guard`; and what others notice
//! when very much is overdue at once, `cargo bench --bench figures -- tails`. What depends on the machine is `make bench`.

#![recursion_limit = "256"] // of types: what a task holds is proved to be Send through all of them

mod cost;
#[path = "../rig/mod.rs"]
#[expect(dead_code, reason = "the other bench uses the rest")]
mod rig;
mod tails;

use clap::{Parser, ValueEnum};
use rig::client;

#[derive(Parser)]
struct Asked {
    figures: Vec<Figures>,
    #[command(flatten)]
    cost: cost::Options,
    /// Cargo says it to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Figures {
    /// Not unless it is asked for: it takes valgrind and strace.
    Cost,
    Guard,
    Tails,
}

/// On one thread: what the clients use is not the service's.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let asked = Asked::parse();
    for figures in asked.figures {
        match figures {
            Figures::Cost => cost::run(&asked.cost).await,
            Figures::Tails => tails::run(&asked.cost.engine).await,
            Figures::Guard => cost::guard(&asked.cost).await,
        }
    }
}
