//! The same over fewer and over more connections.

use crate::{
    crowd::Sample,
    rig::{Rig, stock::Numbers, ways::Way},
    size::Size,
    table::Table,
};

use super::{Found, closed::of_intray};

const CONNECTIONS: [usize; 4] = [1, 16, 64, 256];

pub async fn run(size: Size) -> Found {
    let (rig, numbers) = (Rig::start(), Numbers::new());
    Way::Plain.ready(&rig).await;
    let mut samples = CONNECTIONS.map(|_| Vec::new());
    for _ in 0..size.rounds() {
        for (connections, samples) in CONNECTIONS.into_iter().zip(&mut samples) {
            samples.push(of_intray(&rig, connections, &numbers, size).await);
        }
    }
    let mut table = Table::new(&[
        "connections",
        "cycles/s",
        "service µs/cycle",
        "Redis µs/cycle",
        "jobs/script",
        "commands/cycle",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "client µs/cycle",
        "other load",
    ]);
    for (connections, samples) in CONNECTIONS.into_iter().zip(&samples) {
        let of = Sample::of(samples);
        table.row(
            connections,
            [of.per_s, of.server, of.redis, 3.0 / of.scripts, of.commands, of.p50, of.p99, of.p999, of.own, of.others],
        );
    }
    Found::of(table)
}
