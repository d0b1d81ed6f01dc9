//! All figures of the guard.

use std::path::Path;

use super::super::{
    super::rig::ways::Way,
    built,
    crowd::Shape,
    kept::{Figure, Parts, short},
    redis::{Looked, patiently},
    server::Form,
    service::{self, Case},
    weight,
};

/// Functions with fewer instructions are left out.
const SHARE: f64 = 0.002;

#[derive(Default)]
pub struct Found {
    pub figures: Vec<Figure>,
    /// Instructions per cycle by function, for figures of the service.
    pub functions: Vec<(String, Parts)>,
}

impl Found {
    fn add(&mut self, name: String, value: f64, parts: Parts) {
        eprintln!("{name}: {}", short(value));
        self.figures.push(Figure { name, value, parts });
    }

    /// Built functions are listed by file and line.
    pub fn of_the_files(&mut self) {
        let (places, mut parts) = (built::places(), Parts::new());
        for (file, line) in &places {
            eprintln!("  lua/{file}.lua:{line} builds a function");
            *parts.entry(file.clone()).or_default() += 1.0;
        }
        self.add("all scripts, functions built".to_owned(), places.len() as f64, parts);
    }

    pub async fn of_redis(&mut self, engine: &str, folder: &Path) {
        for calls in [12, 1] {
            let shape = Shape { calls, waiting: 1_000, is_named: false };
            let (cycles, apart) = patiently(async || {
                let mut looked = Looked::start(engine, shape, Form::Preferred, folder).await?;
                Ok((looked.cycles().await?, looked.apart().await?))
            })
            .await;
            let script = |name: &str| format!("{name} of {calls}");
            let parts = apart.iter().map(|apart| (script(apart.name), apart.instructions)).collect();
            self.add(format!("redis, {calls} a script"), cycles.per_cycle as f64, parts);
            let all = cycles.commands.values().sum();
            self.add(format!("redis, {calls} a script, commands"), all, Parts::new());
            for apart in apart {
                let commands = apart.commands.values().sum();
                self.add(format!("{}, commands", script(apart.name)), commands, apart.commands);
                self.add(format!("{}, made by Lua", script(apart.name)), apart.of_lua, Parts::new());
            }
        }
        let shape = Shape { calls: 12, waiting: 1_000, is_named: false };
        let (counted, sweep, jobs) =
            patiently(async || Looked::start(engine, shape, Form::Preferred, folder).await?.sweep().await).await;
        self.add("sweep, a transition counted".to_owned(), counted, Parts::new());
        self.add("sweep, a job".to_owned(), sweep.instructions, Parts::new());
        self.add("sweep, a step, jobs".to_owned(), jobs as f64, Parts::new());
        self.add("sweep, a step, commands".to_owned(), sweep.commands.values().sum(), sweep.commands);
        self.add("a waiting job, bytes".to_owned(), weight::of_a_waiting_job(engine).await, Parts::new());
    }

    pub async fn of_the_service(&mut self, folder: &Path) {
        let form = Case { way: Way::Form, ..Case::plain(64) };
        for (case, name) in [
            (Case::plain(64), "service, 64 connections"),
            (Case::plain(1), "service, 1 connection"),
            (form, "service, 64 connections, with a form"),
        ] {
            let found = service::instructions(case, folder).await;
            self.functions.push((name.to_owned(), found.functions(SHARE)));
            self.add(name.to_owned(), found.instructions, Parts::new());
            self.add(format!("{name}, allocations"), found.allocations, Parts::new());
            self.add(format!("{name}, calls of Redis"), found.calls_of_redis, Parts::new());
            let calls = service::system_calls(case, folder).await;
            self.add(format!("{name}, system calls"), calls.per_cycle, calls.which.into_iter().take(8).collect());
        }
    }
}
