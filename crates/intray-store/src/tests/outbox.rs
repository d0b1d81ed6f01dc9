//! Webhooks: the scripts that move events into deliveries.

use std::time::Duration;

use super::{Redis, queue};
use crate::{
    Actor, DeliveryHead, DeliveryId, Forward, Forwarded, OutboxState, Posted, Sent,
    job::{DeliveryState, Millis, Name},
    redis::read::Fields,
};

fn webhook(name: &str) -> Name {
    Name::parse(name).expect("a name")
}

fn delivery(ms: u64) -> (DeliveryId, DeliveryHead, Vec<u8>) {
    let (kind, subject) = ("job.completed".to_owned(), "q-0".to_owned());
    let head = DeliveryHead { attempts: 0, status: None, kind, subject, error: String::new() };
    (DeliveryId::new(Millis(ms), &[ms as u8; 32]), head, format!("{{\"n\":{ms}}}").into_bytes())
}

pub(super) fn step(read: Option<&str>, reached: &str, deliveries: impl IntoIterator<Item = u64>) -> Forward {
    let deliveries = deliveries.into_iter().map(delivery).collect();
    Forward { read: read.map(str::to_owned), reached: reached.to_owned(), deliveries }
}

/// For all queues.
fn named(names: &[Name]) -> impl Iterator<Item = (&Name, &str)> {
    names.iter().map(|name| (name, "*"))
}

impl Redis {
    pub(super) async fn forward(&self, name: &str, step: Forward) -> Forwarded {
        // A queue that a webhook reads has an event; where it has later ones, this is refused.
        let (runner, mut event) = (&self.queues.parts.runner, redis::cmd("XADD"));
        event.arg(runner.keys.of(&queue(), "events")).arg("1-0").arg("0").arg("");
        drop(runner.link.plain(&event).await);
        self.queues.forward(&queue(), &webhook(name), &step).await.expect("forwarded")
    }

    pub(super) async fn outbox_of(&self, name: &str) -> OutboxState {
        let states = self.queues.outbox(&queue()).await.expect("states");
        states.into_iter().find(|state| state.webhook.as_str() == name).expect("a webhook that has read")
    }

    async fn collect(&self, name: &str, limit: u32) -> Vec<crate::DueDelivery> {
        self.queues.collect(&queue(), &webhook(name), limit, 0).await.expect("collected").due
    }
}

#[tokio::test]
async fn queue_without_events_gets_no_cursor() {
    let redis = Redis::start().await;
    let before = redis.dump().await;
    for deliveries in [0..0, 1..2] {
        let step = step(None, "5-0-1", deliveries);
        let answer = redis.queues.forward(&queue(), &webhook("a"), &step).await.expect("an answer");
        assert_eq!(answer, Forwarded::Moved(None));
    }
    assert_eq!(redis.dump().await, before);
}

#[tokio::test]
async fn cursor_that_has_moved_stops_a_forward() {
    let redis = Redis::start().await;
    assert_eq!(redis.forward("a", step(None, "5-0-1", [1, 2])).await, Forwarded::Done);
    let moved = Forwarded::Moved(Some("5-0-1".to_owned()));
    assert_eq!(redis.forward("a", step(None, "5-0-1", [1, 2])).await, moved);
    assert_eq!(redis.forward("a", step(Some("4-0-1"), "6-0-1", [3])).await, moved);
    let before = redis.dump().await;
    assert_eq!(redis.forward("b", step(Some("5-0-1"), "6-0-1", [3])).await, Forwarded::Moved(None));
    assert_eq!(before, redis.dump().await);
    assert_eq!(redis.outbox_of("a").await.waiting, 2);
}

#[tokio::test]
async fn webhooks_of_a_queue_have_deliveries_of_their_own() {
    let redis = Redis::start().await;
    redis.forward("a", step(None, "5-0-1", 1..=30)).await;
    redis.forward("b", step(None, "5-0-1", [40])).await;
    let ids = |due: &[crate::DueDelivery]| due.iter().map(|one| one.id.at().0).collect::<Vec<_>>();
    assert_eq!(ids(&redis.collect("b", 10).await), [40]);
    assert_eq!(ids(&redis.collect("a", 2).await), [1, 2], "the oldest first");
    assert_eq!(ids(&redis.collect("a", 100).await), (3..=30).collect::<Vec<_>>());
    assert!(redis.collect("a", 100).await.is_empty(), "no other instance sends them meanwhile");
    assert_eq!((redis.outbox_of("a").await.waiting, redis.outbox_of("b").await.waiting), (30, 1));
    redis.queues.discard(&queue(), &webhook("a")).await.expect("discarded");
    let states = redis.queues.outbox(&queue()).await.expect("states");
    assert_eq!(states.iter().map(|state| (state.webhook.as_str(), state.waiting)).collect::<Vec<_>>(), [("b", 1)]);
    // The slot of the first is free again.
    redis.forward("c", step(None, "5-0-1", [50])).await;
    assert_eq!(ids(&redis.collect("c", 10).await), [50]);
}

#[tokio::test]
async fn reports_take_put_off_give_back_and_fail() {
    let redis = Redis::start().await;
    redis.forward("a", step(None, "5-0-1", 1..=4)).await;
    let mut due = redis.collect("a", 10).await;
    let sent = [Sent::Taken, Sent::Again(Duration::from_secs(100)), Sent::Back(due[2].due_at), Sent::Failed];
    let reports = |due: Vec<crate::DueDelivery>| -> Vec<Posted> {
        let posted = |(one, sent): (crate::DueDelivery, Sent)| Posted {
            id: one.id,
            head: DeliveryHead { attempts: 7, status: Some(500), ..one.head },
            sent,
        };
        due.into_iter().zip(sent).map(posted).collect()
    };
    let first = reports(std::mem::take(&mut due));
    let next = redis.queues.posted(&queue(), &webhook("a"), &first).await.expect("posted");
    assert_eq!(next.1, Some(Duration::ZERO), "what was given back is due");
    let state = redis.outbox_of("a").await;
    assert_eq!((state.waiting, state.failed), (2, 1));
    // A second report, of an instance that was slow, changes nothing that the first has ended.
    redis.queues.posted(&queue(), &webhook("a"), &first).await.expect("posted");
    assert_eq!((redis.outbox_of("a").await.waiting, redis.outbox_of("a").await.failed), (2, 1));
    let failed =
        redis.queues.deliveries(&queue(), &webhook("a"), DeliveryState::Failed, None, 10).await.expect("a page");
    assert_eq!(failed.deliveries.iter().map(|one| (one.id.at().0, one.head.attempts)).collect::<Vec<_>>(), [(4, 7)]);
    assert_eq!(redis.queues.redeliver(&queue(), &webhook("a"), None, &Actor::default()).await.expect("due"), 1);
    let again = redis.collect("a", 10).await;
    assert_eq!(again.iter().map(|one| (one.id.at().0, one.head.attempts)).collect::<Vec<_>>(), [(3, 7), (4, 0)]);
}

#[tokio::test]
async fn deliveries_that_were_taken_leave_nothing() {
    let redis = Redis::start().await;
    redis.forward("a", step(None, "5-0-1", 1..=3)).await;
    let taken = |one: crate::DueDelivery| Posted { id: one.id, head: one.head, sent: Sent::Taken };
    let posted: Vec<_> = redis.collect("a", 10).await.into_iter().map(taken).collect();
    redis.queues.posted(&queue(), &webhook("a"), &posted).await.expect("posted");
    for key in ["bodies", "deliveries"] {
        let mut command = redis::cmd("EXISTS");
        command.arg(redis.queues.parts.runner.keys.of(&queue(), key));
        let exists = redis.queues.parts.runner.link.plain(&command).await.expect("an answer");
        assert_eq!(exists, redis::Value::Int(0), "{key}");
    }
}

#[tokio::test]
async fn pages_of_deliveries_continue_after_the_last_one() {
    let redis = Redis::start().await;
    redis.forward("b", step(None, "5-0-1", [90])).await;
    redis.forward("a", step(None, "5-0-1", 1..=5)).await;
    redis.forward("c", step(None, "5-0-1", [91])).await;
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = redis.queues.deliveries(&queue(), &webhook("a"), DeliveryState::Waiting, after.as_ref(), 2).await;
        let page = page.expect("a page");
        seen.push(page.deliveries.iter().map(|one| one.id.at().0).collect::<Vec<_>>());
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, [vec![1, 2], vec![3, 4], vec![5]]);
}

#[tokio::test]
async fn webhooks_are_known_since_they_were_first_named() {
    let redis = Redis::start().await;
    let names = [webhook("a"), webhook("b")];
    let first = redis.queues.name_webhooks(named(&names)).await.expect("known");
    redis.queues.stop_webhook(&names[0], Millis(7)).await.expect("stopped");
    redis.queues.note_attempt(&names[1], "7 204 0 ").await.expect("noted");
    let mut known = redis.queues.name_webhooks(std::iter::empty()).await.expect("known");
    known.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(known.iter().all(|now| first.iter().any(|then| (&then.name, then.since) == (&now.name, now.since))));
    assert_eq!((known[0].stopped_at, known[1].last.as_str()), (Some(Millis(7)), "7 204 0 "));
    redis.queues.start_webhook(&names[0]).await.expect("started");
    let known = redis.queues.name_webhooks(named(&names)).await.expect("known");
    assert!(known.iter().all(|now| now.stopped_at.is_none()), "{known:?}");
}

#[tokio::test]
async fn webhook_without_an_instance_for_a_day_is_forgotten_on_demand() {
    let redis = Redis::start().await;
    let (used, unused) = (webhook("used"), webhook("unused"));
    redis.queues.name_webhooks(named(&[used.clone(), unused.clone()])).await.expect("known");
    redis.queues.stop_webhook(&unused, Millis(7)).await.expect("stopped");
    let key = redis.queues.parts.runner.keys.webhooks();
    for name in ["used", "unused"] {
        let mut command = redis::cmd("HSET");
        command.arg(&key).arg(name).arg("1000 1000").arg(format!("{name} p *")).arg("1000");
        redis.queues.parts.runner.link.plain(&command).await.expect("long ago");
    }
    let names = |known: Vec<crate::KnownWebhook>| known.into_iter().map(|one| one.name).collect::<Vec<_>>();
    assert_eq!(
        names(redis.queues.name_webhooks(named(std::slice::from_ref(&used))).await.expect("known")),
        std::slice::from_ref(&used)
    );
    let length = async || {
        let fields = redis.queues.parts.runner.link.plain(redis::cmd("HGETALL").arg(&key)).await.expect("fields");
        Fields::of(&fields).expect("a list").pairs().expect("pairs").len()
    };
    assert_eq!(length().await, 5, "nothing is forgotten yet");
    assert_eq!(
        names(redis.queues.forget_webhooks(named(std::slice::from_ref(&used))).await.expect("known")),
        std::slice::from_ref(&used)
    );
    assert_eq!(length().await, 2);
}

#[tokio::test]
async fn pattern_is_known_for_a_day_after_it_was_last_named() {
    let redis = Redis::start().await;
    let (shop, key) = (webhook("shop"), redis.queues.parts.runner.keys.webhooks());
    let name = async |pattern: &str| {
        let known = redis.queues.forget_webhooks(std::iter::once((&shop, pattern))).await.expect("known");
        let mut patterns = known.into_iter().next().expect("the webhook").patterns;
        patterns.sort();
        patterns
    };
    let set = async |field: &str, value: &str| {
        let mut command = redis::cmd("HSET");
        redis.queues.parts.runner.link.plain(command.arg(&key).arg(field).arg(value)).await.expect("set");
    };
    assert_eq!(name("reviews*").await, ["reviews*"]);
    assert_eq!(name("texts*").await, ["reviews*", "texts*"], "an instance may have the file of before");
    set("shop p reviews*", "1000").await;
    assert_eq!(name("texts*").await, ["texts*"]);
    assert_eq!(name("reviews*").await, ["reviews*", "texts*"], "it can come back");
}

#[tokio::test]
async fn webhook_named_by_an_earlier_version_has_all_queues_for_a_day() {
    let redis = Redis::start().await;
    let (shop, key) = (webhook("shop"), redis.queues.parts.runner.keys.webhooks());
    let now = redis.queues.name_webhooks(std::iter::once((&shop, "a"))).await.expect("known")[0].since.0;
    let plain = async |command: &redis::Cmd| redis.queues.parts.runner.link.plain(command).await.expect("done");
    plain(redis::cmd("DEL").arg(&key)).await;
    plain(redis::cmd("HSET").arg(&key).arg("shop").arg(format!("{now} {now}"))).await;
    let mut known = redis.queues.name_webhooks(std::iter::once((&shop, "a"))).await.expect("known");
    known[0].patterns.sort();
    assert_eq!((known[0].since.0, &known[0].patterns), (now, &vec!["*".to_owned(), "a".to_owned()]));
}

#[tokio::test]
async fn failed_deliveries_go_after_seven_days_though_none_is_due() {
    const WEEK_MS: i64 = 7 * 86_400_000;
    let redis = Redis::start().await;
    redis.forward("a", step(None, "5-0-1", 1..=3)).await;
    let failed = |one: crate::DueDelivery| Posted { id: one.id, head: one.head, sent: Sent::Failed };
    let posted: Vec<_> = redis.collect("a", 10).await.into_iter().map(failed).collect();
    redis.queues.posted(&queue(), &webhook("a"), &posted).await.expect("posted");
    assert_eq!((redis.outbox_of("a").await.failed, redis.outbox_of("a").await.has_old), (3, false));
    let key = format!("t:{{{}}}:2:deliveries", queue().as_str());
    let plain = async |command: &redis::Cmd| redis.queues.parts.runner.link.plain(command).await.expect("an answer");
    let first = plain(redis::cmd("ZRANGE").arg(&key).arg(0).arg(1)).await;
    let mut ids = Fields::of(&first).expect("a list");
    for _ in 0..2 {
        plain(redis::cmd("ZINCRBY").arg(&key).arg(-WEEK_MS - 1).arg(ids.text().expect("an id"))).await;
    }
    assert!(redis.outbox_of("a").await.has_old);
    redis.collect("a", 0).await;
    assert_eq!((redis.outbox_of("a").await.failed, redis.outbox_of("a").await.has_old), (1, false));
}
