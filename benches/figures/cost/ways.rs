//! The cost of a cycle with each feature of a queue: the service and Redis, each under callgrind in turn, with the rest
//! at normal speed.

use std::{path::Path, process::Command};

use super::{
    super::rig::{Rig, SERVICE, Setup, engine::Engine, stock::Numbers, ways::ALL},
    callgrind::Callgrind,
    counter::Counter,
    redis::CYCLES,
    service::{self, Case, ready, until_well, work},
};

const CONNECTIONS: u64 = 64;
const WARM_UP: u64 = 120;

/// Per cycle.
struct OfRedis {
    instructions: f64,
    commands: f64,
    jobs_per_script: f64,
}

/// Lines of a table, each printed when it is ready.
pub async fn run(engine: &str, folder: &Path, mut tell: impl FnMut(String)) {
    tell(format!(
        "{:<27}  {:>20}  {:>11}  {:>11}  {:>12}  {:>18}  {:>8}  {:>11}",
        "64 connections, with",
        "service instructions",
        "jobs/script",
        "allocations",
        "system calls",
        "Redis instructions",
        "commands",
        "jobs/script"
    ));
    for (setup, way, name) in ALL {
        let case = Case { setup, way, connections: CONNECTIONS };
        let found = service::instructions(case, folder).await;
        let calls = service::system_calls(case, folder).await;
        // The private server belongs to the service and cannot be wrapped.
        let redis = match setup {
            Setup::Synced => String::new(),
            Setup::Plain | Setup::Tls | Setup::Replicated => {
                let redis = of_redis(engine, case, folder).await;
                format!("  {:>18.0}  {:>8.1}  {:>11.1}", redis.instructions, redis.commands, redis.jobs_per_script)
            }
        };
        tell(format!(
            "{name:<27}  {:>20.0}  {:>11.1}  {:>11.1}  {:>12.2}{redis}",
            found.instructions, found.jobs_per_script, found.allocations, calls.per_cycle
        ));
    }
}

async fn of_redis(engine: &str, case: Case, folder: &Path) -> OfRedis {
    until_well(async || {
        let callgrind = Callgrind::new(folder);
        let rig = Rig::on(Engine::start_as(callgrind.command(engine)), case.setup, Command::new(&*SERVICE));
        let numbers = Numbers::new();
        ready(&rig, case).await;
        let _reader = case.way.reader(&rig);
        work(&rig, case, WARM_UP, &numbers).await;
        let counter = Counter::of(callgrind, rig.engine.process()).await;
        let before = rig.engine.calls();
        let (counted, is_well) = counter.count(async || work(&rig, case, CYCLES, &numbers).await).await;
        let after = rig.engine.calls();
        let of_cycle = |all: f64| all / CYCLES as f64;
        is_well.then(|| OfRedis {
            instructions: of_cycle(counted.instructions),
            commands: of_cycle((after.commands - before.commands) as f64),
            jobs_per_script: (3 * CYCLES) as f64 / (after.scripts - before.scripts) as f64,
        })
    })
    .await
}
