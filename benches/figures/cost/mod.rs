//! What a cycle costs, in instructions: Redis called directly with 12 calls that meet and with one alone, and the service.

mod callgrind;
mod redis;
mod service;

use std::path::{Path, PathBuf};

use self::redis::{Form, Shape};

#[derive(clap::Args)]
pub struct Options {
    /// With cost: one half of it.
    #[arg(long)]
    only: Option<Half>,
    /// With cost: the functions that take most, too.
    #[arg(long)]
    profile: bool,
    /// With cost: the Redis to look at. One with symbols has more to say in a profile.
    #[arg(long, default_value = "redis-server")]
    engine: String,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Half {
    Redis,
    Service,
}

const SHAPES: [Shape; 6] = [
    Shape { calls: 12, waiting: 1_000, is_named: false },
    Shape { calls: 1, waiting: 1_000, is_named: false },
    Shape { calls: 12, waiting: 1_000, is_named: true },
    Shape { calls: 1, waiting: 1_000, is_named: true },
    Shape { calls: 12, waiting: 200, is_named: false },
    Shape { calls: 1, waiting: 200, is_named: false },
];

pub async fn run(options: &Options) {
    let folder = Folder::new();
    let mut table = vec!["A cycle is enqueue, reserve and complete of a job with 200 bytes.".to_owned()];
    if options.only != Some(Half::Service) {
        table.extend(of_redis(options, &folder.0).await);
    }
    if options.only != Some(Half::Redis) {
        table.extend(of_the_service(options, &folder.0).await);
    }
    println!("{}", table.join("\n"));
}

async fn of_redis(options: &Options, folder: &Path) -> Vec<String> {
    let version = std::process::Command::new(&options.engine).arg("--version").output().expect("an engine");
    let version = String::from_utf8_lossy(&version.stdout);
    let version = version.split(" sha=").next().unwrap_or_default();
    let mut table = vec![format!("{version}"), "jobs/script  waiting  worker   by       instructions".to_owned()];
    for shape in SHAPES {
        for form in [Form::Preferred, Form::Scripts] {
            let found = redis::measure(&options.engine, shape, form, folder).await;
            let Shape { calls, waiting, is_named } = shape;
            let worker = if is_named { "named" } else { "unnamed" };
            let row = format!("{calls:>11}  {waiting:>7}  {worker:<7}  {:<7}  {:>12}", found.command, found.per_cycle);
            eprintln!("{row}");
            if options.profile {
                println!("{row}\n{}", found.profile.top());
            }
            table.push(row);
            if found.command == "EVALSHA" {
                break;
            }
        }
    }
    table
}

async fn of_the_service(options: &Options, folder: &Path) -> Vec<String> {
    let mut table = vec!["connections  jobs/script  instructions  allocations  system calls".to_owned()];
    for connections in [64, 1] {
        let found = service::instructions(connections, folder).await;
        let calls = service::system_calls(connections, folder).await;
        let row = format!(
            "{connections:>11}  {:>11.1}  {:>12.0}  {:>11.1}  {:>12.2}",
            found.jobs_per_script, found.instructions, found.allocations, calls.per_cycle
        );
        eprintln!("{row}");
        if options.profile {
            let which: Vec<_> = calls.which.iter().take(8).map(|(name, calls)| format!("{name} {calls:.2}")).collect();
            println!("{row}\n{}\n{}", which.join("  "), found.profile.top());
        }
        table.push(row);
    }
    table
}

/// What callgrind and strace write.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("intray-cost-profiles-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
