//! The cost of each feature of a queue.

use std::process::Command;

use crate::{
    crowd::{Sample, round},
    meter::Meter,
    numbers::median,
    rig::{
        Rig, SERVICE, Setup,
        stock::Numbers,
        ways::{ALL, Way, workers},
    },
    size::Size,
    table::Table,
    yardsticks::CONNECTIONS,
};

use super::Found;

pub async fn run(size: Size) -> Found {
    let (rig, numbers) = (Rig::start(), Numbers::new());
    let apart =
        [Setup::Tls, Setup::Replicated, Setup::Synced].map(|setup| (setup, Rig::of(setup, Command::new(&*SERVICE))));
    let place = |setup| apart.iter().find(|(of, _)| *of == setup).map_or(&rig, |(_, rig)| rig);
    let rows = ALL.map(|(setup, way, name)| (place(setup), way, name));
    for (rig, way, _) in &rows {
        way.ready(rig).await;
    }
    let mut samples = vec![Vec::new(); rows.len()];
    for _ in 0..size.rounds() {
        for ((rig, way, _), samples) in rows.iter().zip(&mut samples) {
            samples.push(of(rig, *way, &numbers, size).await);
        }
    }
    let mut table = Table::new(&[
        "64 connections, with",
        "cycles/s",
        "of plain",
        "service µs/cycle",
        "Redis µs/cycle",
        "commands/cycle",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
    ]);
    for ((_, _, name), own) in rows.iter().zip(&samples) {
        let ratios: Vec<_> = own.iter().zip(&samples[0]).map(|(own, plain)| own.per_s / plain.per_s).collect();
        let of = Sample::of(own);
        let figures = [of.per_s, median(&ratios), of.server, of.redis, of.commands, of.p50, of.p99, of.p999];
        table.row(*name, figures);
    }
    Found::of(table)
}

async fn of(rig: &Rig, way: Way, numbers: &Numbers, size: Size) -> Sample {
    let mut workers = workers(rig, way, CONNECTIONS).await;
    let _reader = way.reader(rig);
    let meter = Meter { server: Some(rig.service()), engine: Some(&rig.engine) };
    round(&mut workers, numbers, &meter, size.span()).await
}
