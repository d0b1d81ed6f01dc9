//! The whole life of a job over 64 connections, alternating with alternatives and with the layers below.

use crate::{
    crowd::{Sample, round},
    meter::Meter,
    numbers::median,
    rig::{
        Rig,
        stock::Numbers,
        ways::{Way, workers},
    },
    size::Size,
    table::Table,
    yardsticks::{CONNECTIONS, Kind, Yardsticks},
};

use super::Found;

pub async fn run(size: Size) -> Found {
    let (rig, yardsticks, numbers) = (Rig::start(), Yardsticks::start(), Numbers::new());
    Way::Plain.ready(&rig).await;
    let kinds: Vec<_> = Kind::ALL.into_iter().filter(|kind| yardsticks.is_here(*kind)).collect();
    let (mut own, mut theirs) = (Vec::new(), vec![Vec::new(); kinds.len()]);
    for _ in 0..size.rounds() + 2 {
        own.push(of_intray(&rig, CONNECTIONS, &numbers, size).await);
        for (kind, samples) in kinds.iter().zip(&mut theirs) {
            let compared = own.last().copied().zip(yardsticks.round(*kind, &numbers, size.span()).await);
            samples.extend(compared);
        }
    }
    let mut table = Table::new(&[
        "64 connections",
        "cycles/s",
        "min",
        "max",
        "intray : it",
        "server µs/cycle",
        "Redis µs/cycle",
        "scripts/cycle",
        "commands/cycle",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "client µs/cycle",
        "other load",
    ]);
    row(&mut table, "intray", &own.iter().map(|own| (*own, *own)).collect::<Vec<_>>());
    let mut missing: Vec<_> =
        Kind::ALL.into_iter().filter(|kind| !kinds.contains(kind)).map(|kind| kind.name().to_owned()).collect();
    for (kind, samples) in kinds.iter().zip(&theirs) {
        match samples.is_empty() {
            true => missing.push(kind.name().to_owned()),
            false => row(&mut table, kind.name(), samples),
        }
    }
    Found { table, missing }
}

/// One round of the service itself.
pub async fn of_intray(rig: &Rig, connections: usize, numbers: &Numbers, size: Size) -> Sample {
    let mut workers = workers(rig, Way::Plain, connections).await;
    let meter = Meter { server: Some(rig.service()), engine: Some(&rig.engine) };
    round(&mut workers, numbers, &meter, size.span()).await
}

/// Rounds of the service, each with the following round of the other.
fn row(table: &mut Table, name: &str, rounds: &[(Sample, Sample)]) {
    let rates: Vec<_> = rounds.iter().map(|(_, other)| other.per_s).collect();
    let ratios: Vec<_> = rounds.iter().map(|(own, other)| own.per_s / other.per_s).collect();
    let of = Sample::of(&rounds.iter().map(|(_, other)| *other).collect::<Vec<_>>());
    let (min, max) = (rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max));
    table.row(
        name,
        [
            of.per_s,
            min,
            max,
            median(&ratios),
            of.server,
            of.redis,
            of.scripts,
            of.commands,
            of.p50,
            of.p99,
            of.p999,
            of.own,
            of.others,
        ],
    );
}
