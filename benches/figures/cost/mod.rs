//! The cost of a cycle in instructions: Redis called directly with 12 concurrent calls and with one, the commands of
//! the scripts without the scripts, the service, and both with each feature of a queue.

mod built;
mod callgrind;
mod counter;
mod crowd;
mod floor;
mod guard;
mod kept;
mod redis;
mod server;
mod service;
mod ways;
mod weight;

use std::path::Path;

use self::{crowd::Shape, service::Case};
pub use self::{
    guard::run as guard,
    server::{Form, Server},
};
use super::rig::engine::program;

#[derive(clap::Args)]
pub struct Options {
    /// With cost and guard: one part. Features of a queue are part of cost only.
    #[arg(long)]
    only: Option<Part>,
    /// With cost: also the functions with the most instructions.
    #[arg(long)]
    profile: bool,
    /// With guard: stores the measured figures.
    #[arg(long)]
    update: bool,
    /// With cost, guard and tails: the Redis to use. One with symbols gives a better profile.
    #[arg(long, default_value_t = program())]
    pub engine: String,
}

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Redis,
    Service,
    Ways,
}

/// The first two have floors.
const SHAPES: [Shape; 6] = [
    Shape { calls: 12, waiting: 1_000, is_named: false },
    Shape { calls: 1, waiting: 1_000, is_named: false },
    Shape { calls: 12, waiting: 1_000, is_named: true },
    Shape { calls: 1, waiting: 1_000, is_named: true },
    Shape { calls: 12, waiting: 200, is_named: false },
    Shape { calls: 1, waiting: 200, is_named: false },
];
const PLAIN: usize = 2;

pub async fn run(options: &Options) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut report = Report { with_profile: options.profile, lines: Vec::new() };
    report.lines.push("A cycle is enqueue, reserve and complete of a job with a payload of 200 bytes.".to_owned());
    if options.wants(Part::Redis) {
        of_redis(&options.engine, folder.path(), &mut report).await;
    }
    if options.wants(Part::Service) {
        of_the_service(folder.path(), &mut report).await;
    }
    if options.wants(Part::Ways) {
        ways::run(&options.engine, folder.path(), |row| report.row(row, String::new)).await;
    }
    println!("{}", report.lines.join("\n"));
}

/// The table printed at the end. Each row is printed when it is ready.
struct Report {
    with_profile: bool,
    lines: Vec<String>,
}

impl Report {
    fn row(&mut self, row: String, profile: impl FnOnce() -> String) {
        eprintln!("{row}");
        if self.with_profile {
            println!("{row}\n{}", profile());
        }
        self.lines.push(row);
    }
}

async fn of_redis(engine: &str, profiles: &Path, report: &mut Report) {
    let version = std::process::Command::new(engine).arg("--version").output().expect("an engine");
    let version = String::from_utf8_lossy(&version.stdout);
    report.lines.push(version.split(" sha=").next().unwrap_or_default().to_owned());
    report.lines.push("jobs/script  waiting  worker   by       instructions".to_owned());
    for (n, shape) in SHAPES.into_iter().enumerate() {
        let Shape { calls, waiting, is_named } = shape;
        let worker = if is_named { "named" } else { "unnamed" };
        let row = |by: &str, figure: u64| format!("{calls:>11}  {waiting:>7}  {worker:<7}  {by:<7}  {figure:>12}");
        let mut found = redis::measure(engine, shape, Form::Preferred, profiles).await;
        report.row(row(found.command, found.per_cycle), || found.profile.top());
        if found.command == "FCALL" {
            found = redis::measure(engine, shape, Form::Scripts, profiles).await;
            report.row(row(found.command, found.per_cycle), || found.profile.top());
        }
        if n < PLAIN {
            let (floor, profile) = floor::measure(engine, shape, profiles).await;
            report.row(row("MULTI", floor), || profile.top());
        }
    }
}

async fn of_the_service(profiles: &Path, report: &mut Report) {
    report.lines.push("connections  jobs/script  instructions  allocations  system calls".to_owned());
    for connections in [64, 1] {
        let case = Case::plain(connections);
        let found = service::instructions(case, profiles).await;
        let calls = service::system_calls(case, profiles).await;
        let line = format!(
            "{connections:>11}  {:>11.1}  {:>12.0}  {:>11.1}  {:>12.2}",
            found.jobs_per_script, found.instructions, found.allocations, calls.per_cycle
        );
        let which = calls.which.iter().take(8).map(|(name, calls)| format!("{calls:>6.2} {name}\n"));
        report.row(line, || which.collect::<String>() + &found.profile.top());
    }
}
