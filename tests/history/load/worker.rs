//! Workers: they reserve, save drafts, complete, take that back, give back, fail, disappear, return late and repeat calls.

mod undo;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use self::undo::Regret;
use super::{Caller, queues::*};
use crate::record::{Answer, Ask, ReportedItem, Settle, Way};

struct Worker {
    caller: Caller,
    name: Option<String>,
    /// Reservations left open, to be ended later.
    forgotten: Vec<String>,
    regrets: Vec<Regret>,
    /// Completions that were taken back, to be sent once more.
    stale: Vec<Settle>,
}

pub async fn work(caller: Caller, n: usize, stop: Arc<AtomicBool>) {
    // One in ten has no name.
    let name = (n % 10 != 9).then(|| format!("worker {n}"));
    let (forgotten, regrets, stale) = Default::default();
    let mut worker = Worker { caller, name, forgotten, regrets, stale };
    while !stop.load(Ordering::Relaxed) {
        let given = worker.reserve().await;
        if given.is_empty() {
            worker.caller.chance.rest(200).await;
        }
        for job in &given {
            worker.handle(job).await;
        }
        worker.take_back_due().await;
        if worker.caller.chance.percent(10) {
            worker.come_back().await;
        }
    }
}

impl Worker {
    async fn reserve(&mut self) -> Vec<ReportedItem> {
        let number = self.caller.shared.number();
        let chance = &mut self.caller.chance;
        let first = *chance.one(&ALL);
        let mut queues = vec![first.to_owned()];
        if chance.percent(30) {
            queues.extend([*chance.one(&ALL)].iter().filter(|&&other| other != first).map(|&it| it.to_owned()));
        }
        let id = chance.maybe(5, |chance| self.caller.shared.recall(first, chance)).flatten();
        // Picks overtake other jobs, so they are not made in ordered queues.
        let id = id.filter(|_| !LINES.contains(&first));
        let limit = if id.is_none() && chance.percent(20) { chance.count(2, 5) } else { 1 };
        let wait_ms = if chance.percent(40) && id.is_none() { chance.up_to(2_000) } else { 0 };
        let key = chance.maybe(20, |_| number).filter(|_| self.name.is_some());
        let worker = self.name.clone();
        let ask = Ask::Reserve { queues, worker, limit, wait_ms, id, key };
        for _ in 0..3 {
            match self.caller.call(ask.clone()).await {
                Answer::Done(given) => return given,
                Answer::Refused(_) | Answer::Unknown if key.is_some() => self.caller.chance.rest(100).await,
                Answer::Refused(_) | Answer::Unknown => return Vec::new(),
            }
        }
        Vec::new()
    }

    async fn handle(&mut self, job: &ReportedItem) {
        self.caller.shared.remember(&job.id);
        let is_line = LINES.contains(&crate::record::queue_of(&job.id));
        self.caller.chance.rest(40).await;
        let reservation = job.reservation.clone();
        if !is_line && self.caller.chance.percent(25) {
            let items = vec![self.plain(&reservation)];
            self.settle(Way::Extend, items).await;
        }
        match self.caller.chance.up_to(99) {
            0..=2 => self.forgotten.push(reservation),
            3..=10 => self.give_back(&reservation, is_line).await,
            19..=24 if !is_line => {
                let to = Some(format!("worker {}", self.caller.chance.up_to(19)));
                let item = Settle { to: to.filter(|to| Some(to) != self.name.as_ref()), ..self.plain(&reservation) };
                let way = if item.to.is_some() { Way::HandOver } else { Way::Complete };
                self.finish(way, item).await;
            }
            11..=18 if !is_line => {
                let item = self.plain(&reservation);
                self.finish(Way::Fail, item).await;
            }
            _ if self.caller.chance.percent(40) => self.complete_for_a_time(job, is_line).await,
            _ => {
                let item = self.plain(&reservation);
                self.finish(Way::Complete, item).await;
            }
        }
    }

    async fn give_back(&mut self, reservation: &str, is_line: bool) {
        let plain = self.plain(reservation);
        let chance = &mut self.caller.chance;
        if is_line {
            return self.finish(Way::Abandon, Settle { value: None, ..plain }).await;
        }
        let value = plain.value.filter(|_| chance.percent(50));
        let grace_ms = chance.maybe(20, |chance| chance.up_to(3_000));
        let delay_ms = chance.maybe(20, |chance| chance.up_to(3_000)).filter(|_| grace_ms.is_none());
        let skip = self.name.is_some() && chance.percent(15);
        self.finish(Way::Abandon, Settle { value, grace_ms, delay_ms, skip, ..plain }).await;
    }

    /// Repeats the call until its outcome is known, and sometimes once more.
    async fn finish(&mut self, way: Way, item: Settle) {
        for _ in 0..6 {
            let answer = self.settle(way, vec![item.clone()]).await;
            let is_open = match &answer {
                Answer::Done(_) => false,
                Answer::Refused(refusal) => matches!(refusal.status, 0 | 503 | 507),
                Answer::Unknown => true,
            };
            if !is_open && !self.caller.chance.percent(4) {
                return;
            }
            self.caller.chance.rest(200).await;
        }
        self.forgotten.push(item.reservation);
    }

    /// Ends old reservations, all in one call, sometimes in two ways.
    async fn come_back(&mut self) {
        for item in std::mem::take(&mut self.stale) {
            self.settle(Way::Complete, vec![item]).await;
        }
        let mut items: Vec<_> = std::mem::take(&mut self.forgotten).iter().map(|it| self.plain(it)).collect();
        items.truncate(100);
        if items.is_empty() {
            return;
        }
        let way = if self.caller.chance.percent(80) { Way::Complete } else { Way::Fail };
        if matches!(self.settle(way, items.clone()).await, Answer::Unknown) {
            self.settle(way, items).await;
        }
    }

    async fn settle(&mut self, way: Way, items: Vec<Settle>) -> Answer {
        self.caller.call(Ask::Settle { way, items }).await
    }

    fn plain(&self, reservation: &str) -> Settle {
        let value = Some(self.caller.shared.number());
        Settle { reservation: reservation.to_owned(), value, ..Settle::default() }
    }
}
