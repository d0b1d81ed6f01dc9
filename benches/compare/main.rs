//! Benchmarks that depend on the machine, compared with alternatives: `make bench` for all and for `docs/figures.md`, `cargo
//! bench --bench compare -- closed` for a part. `make cost` counts instructions, which do not depend on it.

mod crowd;
mod meter;
mod numbers;
mod page;
mod parts;
mod plot;
mod readme;
mod record;
#[path = "../rig/mod.rs"]
#[expect(dead_code, reason = "the other bench uses the rest")]
mod rig;
mod schedule;
mod size;
mod table;
mod yardsticks;

use std::{
    path::Path,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use clap::{Parser, ValueEnum};

use meter::Meter;
use parts::{Found, Part};
use record::{Record, Taken};
use rig::client::ASKED_AGAIN;
use size::Size;

#[derive(Parser)]
struct Asked {
    /// None means all of them, and then docs/figures.md is written.
    parts: Vec<Part>,
    #[arg(long, value_enum, default_value_t = Size::Usual)]
    size: Size,
    /// Writes docs/figures.md from the last results, and measures only what is named.
    #[arg(long)]
    page: bool,
    /// Cargo passes this to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some(yardsticks::empty::MODE) {
        return yardsticks::empty::serve();
    }
    let asked = Asked::parse();
    // On one thread, so that clients use little of the machine.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure(&asked));
}

async fn measure(asked: &Asked) {
    let all = asked.parts.is_empty() && !asked.page;
    let parts = if all { Part::value_variants() } else { asked.parts.as_slice() };
    let size = asked.size;
    let mut record = if all { Record::new() } else { Record::kept() };
    for part in parts {
        let (name, others, start) = (part.name(), others().await, Instant::now());
        let asked_again = ASKED_AGAIN.load(Ordering::Relaxed);
        let found = part.run(size).await;
        let asked_again = ASKED_AGAIN.load(Ordering::Relaxed) - asked_again;
        let (at, seconds) = (record::now(), start.elapsed().as_secs_f64());
        let Found { table, missing } = found;
        let taken = Taken { at, size: size.word().to_owned(), seconds, others, asked_again, table, missing };
        println!("{name}, {seconds:.0} s\n\n{}", taken.page());
        record.parts.insert(name, taken);
        record.keep();
    }
    if asked.page || all && size != Size::Try {
        write(&record);
    }
}

/// Processors that are busy with other programs now.
async fn others() -> f64 {
    let machine = Meter { server: None, engine: None };
    let before = machine.read();
    tokio::time::sleep(Duration::from_secs(1)).await;
    machine.since(&before).others
}

/// The page and its curves.
fn write(record: &Record) {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"));
    std::fs::create_dir_all(docs.join("figures")).expect("a folder");
    for part in Part::value_variants() {
        let taken = record.parts.get(&part.name());
        if let Some(svg) = taken.and_then(|taken| plot::svg(*part, &taken.table)) {
            std::fs::write(docs.join(format!("figures/{}.svg", part.name())), svg).expect("written");
        }
    }
    std::fs::write(docs.join("figures.md"), page::page(record)).expect("written");
    let readme = docs.with_file_name("README.md");
    let renewed = readme::renewed(&std::fs::read_to_string(&readme).expect("the README"), record);
    std::fs::write(readme, renewed).expect("written");
    println!("docs/figures.md and what the README says of it are written");
}
