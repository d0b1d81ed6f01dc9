//! All queues, with their counts and rates.

use std::{collections::HashMap, time::Instant};

use serde::Deserialize;

use super::{
    ask::Talk,
    options::Sort,
    table, webhooks,
    words::{age, rate},
};
use crate::{client::Service, terminal::clean};

/// Maximum pages of a thousand queues that are read; the table says when there are more.
const PAGES: usize = 20;

#[derive(Deserialize)]
struct QueuesPage {
    queues: Vec<Queue>,
    next: Option<String>,
    #[serde(default)]
    unavailable: Vec<String>,
}

#[derive(Deserialize)]
struct Queue {
    name: String,
    counts: Counts,
    oldest_waiting_ms: Option<u64>,
    reservations: Reservations,
    settings: QueueSettings,
    totals: QueueTotals,
}

#[derive(Deserialize)]
struct Counts {
    waiting: u64,
    reserved: u64,
    delayed: u64,
    blocked: u64,
    dead: u64,
}

#[derive(Deserialize)]
struct Reservations {
    overdue: u64,
}

#[derive(Deserialize)]
struct QueueSettings {
    paused: bool,
}

#[derive(Deserialize, Clone, Copy)]
struct QueueTotals {
    enqueued: u64,
    handed_out: u64,
    completed: u64,
}

/// All queues as read by one refresh.
pub(super) struct QueueRows {
    at: Instant,
    queues: Vec<Queue>,
    /// The number of queues whose node is away.
    away: usize,
    are_all: bool,
    /// Webhooks that do not deliver.
    webhooks: String,
}

impl QueueRows {
    pub(super) async fn look(service: &Service) -> Result<Self, String> {
        let mut talk = Talk::with(service).await?;
        let webhooks = webhooks::notes(&mut talk).await;
        let mut all = Self { at: Instant::now(), queues: Vec::new(), away: 0, are_all: true, webhooks };
        let mut path = "/queues?limit=1000".to_owned();
        for _ in 0..PAGES {
            let page: QueuesPage = talk.get(&path).await?;
            all.queues.extend(page.queues);
            all.away += page.unavailable.len();
            match page.next {
                Some(next) => path = format!("/queues?limit=1000&after={next}"),
                None => return Ok(all),
            }
        }
        all.are_all = false;
        Ok(all)
    }

    /// Adds the rates since an earlier refresh.
    pub(super) fn after(&self, before: Option<&Self>) -> Rows {
        let then = before.map(|then| (then, self.at.duration_since(then.at).as_secs_f64()));
        let known: HashMap<_, _> =
            then.iter().flat_map(|(then, _)| &then.queues).map(|q| (&q.name, q.totals)).collect();
        let rows = self.queues.iter().map(|queue| {
            let rates = then.and_then(|(_, seconds)| Some(queue.rates(*known.get(&queue.name)?, seconds)));
            Row::of(queue, rates)
        });
        Rows { rows: rows.collect(), away: self.away, are_all: self.are_all, webhooks: self.webhooks.clone() }
    }
}

impl Queue {
    /// A queue that was created again has smaller totals than before: its rates are 0, not negative.
    fn rates(&self, then: QueueTotals, seconds: f64) -> [f64; 3] {
        let pairs = [
            (self.totals.enqueued, then.enqueued),
            (self.totals.handed_out, then.handed_out),
            (self.totals.completed, then.completed),
        ];
        pairs.map(|(now, then)| now.saturating_sub(then) as f64 / seconds.max(f64::MIN_POSITIVE))
    }
}

pub(super) struct Rows {
    rows: Vec<Row>,
    away: usize,
    are_all: bool,
    webhooks: String,
}

struct Row {
    name: String,
    waiting: u64,
    oldest: Option<u64>,
    held: u64,
    overdue: u64,
    /// Jobs enqueued, handed out and completed, per second.
    rates: Option<[f64; 3]>,
    dead: u64,
    delayed: u64,
    blocked: u64,
    paused: bool,
}

impl Row {
    fn of(queue: &Queue, rates: Option<[f64; 3]>) -> Self {
        let Queue { name, counts, oldest_waiting_ms, reservations, settings, .. } = queue;
        Self {
            name: name.clone(),
            waiting: counts.waiting,
            oldest: *oldest_waiting_ms,
            held: counts.reserved,
            overdue: reservations.overdue,
            rates,
            dead: counts.dead,
            delayed: counts.delayed,
            blocked: counts.blocked,
            paused: settings.paused,
        }
    }

    /// The sort key. The largest comes first.
    fn weight(&self, sort: Sort) -> f64 {
        let rate = |nth: usize| self.rates.map_or(0.0, |rates| rates[nth]);
        match sort {
            Sort::Name => 0.0,
            Sort::Waiting => self.waiting as f64,
            Sort::Oldest => self.oldest.map_or(-1.0, |ms| ms as f64),
            Sort::Held => self.held as f64,
            Sort::Overdue => self.overdue as f64,
            Sort::Dead => self.dead as f64,
            Sort::In => rate(0),
            Sort::Out => rate(1),
            Sort::Done => rate(2),
        }
    }

    fn cells(&self) -> [String; HEADS.len()] {
        let rate = |nth: usize| rate(self.rates.map(|rates| rates[nth]));
        let count = |count: u64| count.to_string();
        let note = if self.paused { " (paused)" } else { "" };
        [
            clean(&self.name) + note,
            count(self.waiting),
            age(self.oldest),
            count(self.held),
            count(self.overdue),
            rate(0),
            rate(1),
            rate(2),
            count(self.dead),
            count(self.delayed),
            count(self.blocked),
        ]
    }
}

const HEADS: [&str; 11] =
    ["QUEUE", "WAITING", "OLDEST", "HELD", "OVERDUE", "IN/s", "OUT/s", "DONE/s", "DEAD", "DELAYED", "BLOCKED"];

impl Rows {
    /// The totals over all queues.
    pub(super) fn summary(&self) -> String {
        let sum = |figure: fn(&Row) -> u64| self.rows.iter().map(figure).sum::<u64>();
        let (waiting, held) = (sum(|row| row.waiting), sum(|row| row.held));
        let some = if self.are_all { "" } else { ", and more that are not shown" };
        let away = if self.away > 0 { format!(", and {} on nodes that are away", self.away) } else { String::new() };
        format!("queues: {}{some}{away}; waiting: {waiting}, held: {held}{}", self.rows.len(), self.webhooks)
    }

    pub(super) fn sort(&mut self, sort: Sort, turned: bool) {
        self.rows.sort_by(|a, b| b.weight(sort).total_cmp(&a.weight(sort)).then_with(|| a.name.cmp(&b.name)));
        if turned {
            self.rows.reverse();
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.name.as_str())
    }

    /// The heading, and one line per queue.
    pub(super) fn table(&self, width: usize) -> Vec<String> {
        let cells: Vec<_> = self.rows.iter().map(Row::cells).collect();
        table::lines(HEADS, &cells, width)
    }

    /// The table and the totals, as lines to print.
    pub(super) fn lines(mut self, sort: Sort, turned: bool, width: usize) -> Vec<String> {
        self.sort(sort, turned);
        let summary = self.summary();
        self.table(width).into_iter().chain([summary]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn queue(name: &str, waiting: u64, oldest: Option<u64>, completed: u64) -> Queue {
        let value = json!({
            "name": name,
            "counts": { "waiting": waiting, "reserved": 1, "delayed": 0, "blocked": 0, "dead": 0 },
            "oldest_waiting_ms": oldest,
            "reservations": { "live": 1, "overdue": 0 },
            "settings": { "paused": name == "paused" },
            "totals": { "enqueued": 10, "handed_out": 5, "completed": completed },
        });
        serde_json::from_value(value).expect("a queue")
    }

    fn seen(at: Instant, queues: Vec<Queue>) -> QueueRows {
        QueueRows { at, queues, away: 0, are_all: true, webhooks: String::new() }
    }

    #[test]
    fn rates_need_two_samples() {
        let begin = Instant::now();
        let before = seen(begin, vec![queue("a", 3, Some(1), 100), queue("again", 3, Some(1), 100)]);
        let now = vec![queue("a", 3, Some(1), 105), queue("again", 3, Some(1), 2), queue("new", 3, Some(1), 7)];
        let rows = seen(begin + Duration::from_secs(2), now).after(Some(&before));
        let done: Vec<_> = rows.rows.iter().map(|row| row.cells()[7].clone()).collect();
        assert_eq!(done, ["2.5", "0.0", "-"]);
        assert_eq!(before.after(None).rows[0].cells()[7], "-");
    }

    #[test]
    fn queues_are_sorted_by_any_column_either_way_round() {
        let all = || {
            seen(
                Instant::now(),
                vec![queue("b", 1, Some(9), 0), queue("paused", 2, None, 0), queue("a", 1, Some(5), 0)],
            )
        };
        let sorted = |sort, turned| {
            let lines = all().after(None).lines(sort, turned, usize::MAX);
            let first = lines[1..4].iter().filter_map(|line| line.split_whitespace().next());
            first.map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sorted(Sort::Name, false), "a b paused");
        assert_eq!(sorted(Sort::Name, true), "paused b a");
        assert_eq!(sorted(Sort::Oldest, false), "b a paused", "queues without a waiting job come last");
        assert_eq!(sorted(Sort::Waiting, false), "paused a b", "the same are by name");
        let lines = all().after(None).lines(Sort::Waiting, false, usize::MAX);
        assert!(lines[1].starts_with("paused (paused)"), "{lines:?}");
        assert_eq!(lines[4], "queues: 3; waiting: 4, held: 3");
    }
}
