//! What each thing that a queue can do beside handing out jobs costs.

use std::net::SocketAddr;

use crate::{
    caller::{Way, callers},
    crowd::{Numbers, Sample, round},
    meter::Meter,
    numbers::median,
    rig::{Rig, client::Client},
    size::Size,
    table::Table,
    yardsticks::CONNECTIONS,
};

use super::Found;

pub async fn run(size: Size) -> Found {
    let (rig, numbers) = (Rig::start(), Numbers::new());
    let (by_tls, replicated, synced) = (Rig::by_tls(), Rig::replicated(), Rig::synced());
    let kept = [
        (&by_tls, Way::Plain, "TLS"),
        (&replicated, Way::Plain, "changes that a replica has"),
        (&synced, Way::Plain, "changes that are on disk"),
    ];
    let rows: Vec<_> = Way::ALL.into_iter().map(|way| (&rig, way, way.name())).chain(kept).collect();
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
    let mut callers = callers(rig, way, CONNECTIONS).await;
    let reader = match way {
        Way::Watched => Some(tokio::spawn(read(rig.address))),
        Way::Plain | Way::Named | Way::Locks | Way::Clients | Way::Batches => None,
    };
    let meter = Meter { server: Some(rig.service()), engine: Some(&rig.engine) };
    let sample = round(&mut callers, numbers, &meter, size.span()).await;
    if let Some(reader) = reader {
        reader.abort();
    }
    sample
}

/// A reader who is too far behind is cut, and comes back.
async fn read(address: SocketAddr) {
    loop {
        Client::to(address).await.drain("/events").await;
    }
}
