//! Faults that are injected at random, several at a time.

use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep};

use crate::{
    load::Chance,
    record::{Entry, Recorder},
    services::{Instance, Services},
    wire::Break,
};

/// The longest pause between two faults.
const PAUSE_MS: u64 = 900;

/// Injects faults for so long. If instances of an older program serve too, they then serve alone for a quarter of that time.
pub async fn plague_and_go_back(services: &Services, record: &Recorder, chance: &mut Chance, time: Duration) {
    plague(services, record, chance, time).await;
    let begin = record.now();
    if services.go_back().await {
        let what = "all instances are of the older program again".to_owned();
        record.add(Entry::Fault { begin, end: record.now(), what });
        plague(services, record, chance, time / 4).await;
    }
}

/// Injects faults for so long; all are repaired when it returns.
async fn plague(services: &Services, record: &Recorder, chance: &mut Chance, time: Duration) {
    let end = Instant::now() + time;
    let mut strikes = FuturesUnordered::new();
    while Instant::now() < end {
        let next = sleep(Duration::from_millis(chance.up_to(PAUSE_MS)));
        tokio::pin!(next);
        loop {
            tokio::select! {
                () = &mut next => break,
                Some(()) = strikes.next() => {}
            }
        }
        strikes.push(strike(services, record, chance.fork()));
    }
    while strikes.next().await.is_some() {}
}

async fn strike(services: &Services, record: &Recorder, mut chance: Chance) {
    let begin = record.now();
    let what = match chance.up_to(9) {
        0..=2 => services.topology.strike(&mut chance).await,
        3 | 4 => jump(services, &mut chance).await,
        5 | 6 => break_wire(services, &mut chance),
        _ => break_instance(services, &mut chance).await,
    };
    if let Some(what) = what {
        record.add(Entry::Fault { begin, end: record.now(), what });
    }
}

/// Mostly past the end of some leases, sometimes of all.
async fn jump(services: &Services, chance: &mut Chance) -> Option<String> {
    let ms = if chance.percent(70) { chance.up_to(8_000) } else { chance.up_to(120_000) };
    services.pass(ms).await;
    Some(format!("the clock jumped {ms} ms"))
}

fn break_wire(services: &Services, chance: &mut Chance) -> Option<String> {
    let n = chance.count(0, services.instances.len() - 1);
    let what = match chance.up_to(5) {
        0 | 1 => Break::Cut,
        2 | 3 => Break::CutAt(chance.count(0, 3_000)),
        4 => Break::Deafen,
        _ => Break::Delay(chance.up_to(3_000)),
    };
    let wires = &services.instances[n].wires;
    if wires.len() == 1 || chance.percent(50) {
        wires.iter().for_each(|wire| wire.suffers(what));
        return Some(format!("wires of {n}: {what:?}"));
    }
    let to = chance.count(0, wires.len() - 1);
    wires[to].suffers(what);
    Some(format!("wire of {n} to {to}: {what:?}"))
}

async fn break_instance(services: &Services, chance: &mut Chance) -> Option<String> {
    let n = chance.count(0, services.instances.len() - 1);
    let how = suffer(&services.instances[n], chance).await?;
    Some(format!("instance {n}: {how}"))
}

async fn suffer(instance: &Instance, chance: &mut Chance) -> Option<&'static str> {
    let mut service = instance.service.try_lock().ok()?;
    Some(match chance.up_to(3) {
        0 => {
            service.kill();
            chance.rest(1_000).await;
            instance.start_again(&mut service).await;
            "killed"
        }
        1 => {
            service.signal(libc::SIGTERM);
            service.wait_for_exit().await;
            instance.start_again(&mut service).await;
            "stopped with SIGTERM"
        }
        _ => {
            service.signal(libc::SIGSTOP);
            chance.rest(2_500).await;
            service.signal(libc::SIGCONT);
            "stopped"
        }
    })
}
