//! The figures of the README: `cargo bench` for all that need nothing but an engine, `cargo bench -- cycle`, `-- memory` or
//! `-- waiters` for one. `cargo bench -- cost` counts instructions, `-- guard` holds that and more against what is kept; `make
//! cost` and `make guard` bring what these need.

mod client;
mod cost;
mod cycle;
mod memory;
mod rig;
mod tails;
mod waiters;

use clap::{Parser, ValueEnum};

#[derive(Parser)]
struct Asked {
    /// None: all that need neither valgrind nor strace.
    figures: Vec<Figures>,
    #[command(flatten)]
    cost: cost::Options,
    /// Cargo says it to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Figures {
    Cycle,
    Memory,
    Waiters,
    Cost,
    Guard,
    Tails,
}

/// On one thread: what the clients use is not the service's.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let asked = Asked::parse();
    let figures = match asked.figures.as_slice() {
        [] => &[Figures::Cycle, Figures::Memory, Figures::Waiters],
        some => some,
    };
    for figures in figures {
        match figures {
            Figures::Cycle => cycle::run().await,
            Figures::Memory => memory::run().await,
            Figures::Waiters => waiters::run().await,
            Figures::Cost => cost::run(&asked.cost).await,
            Figures::Tails => tails::run(&asked.cost.engine).await,
            Figures::Guard => cost::guard(&asked.cost).await,
        }
    }
}
