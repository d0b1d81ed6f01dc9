//! Callers that pass over jobs because of gates, and who is woken when one gets room.

use super::*;

#[test]
fn gate_wakes_those_whom_it_held_up() {
    let table = Table::default();
    let callers = asleep(&table, &["ann", "bob", "cleo de", "dan de"]);
    table.gate(GATE);
    assert_eq!(woken(&callers), [""; 0]);
    for held in [1, 2] {
        callers[held].pass(&held_up(&["+de"]));
    }
    assert_eq!(woken(&callers), [""; 0], "no other caller gets further");
    table.gate(GATE);
    assert_eq!(woken(&callers), ["bob", "cleo de"]);
    callers[1].pass(&passed(false, &[]));
    assert_eq!(woken(&callers), [""; 0]);
    table.gate(GATE);
    assert_eq!(woken(&callers), ["cleo de"], "bob's next try was not held up");
    table.gate(OTHER);
    assert_eq!(woken(&callers), [""; 0], "another gate holds no caller up");
    table.wake_held_up(&QueueName::default(), &OpenedGates { any: true, ..OpenedGates::default() });
    assert_eq!(woken(&callers), ["cleo de"], "it may be any gate");
}

#[test]
fn caller_tries_again_if_its_gate_has_opened_meanwhile() {
    let table = Table::default();
    let eve = [awake(&table, "eve")];
    for (opened, held, is_woken) in [(GATE, GATE, true), (OTHER, GATE, false)] {
        eve[0].seat.begin_try();
        table.gate(opened);
        eve[0].pass(&held_up_by(&[held], &["@eve"]));
        assert_eq!(!woken(&eve).is_empty(), is_woken, "{opened} opens, {held} holds it up");
        assert_eq!(eve[0].seat.begin_try(), is_woken, "it looks from the front");
    }
    let bob = [awake(&table, "bob")];
    table.gate(GATE);
    bob[0].seat.begin_try();
    bob[0].pass(&held_up(&["@bob"]));
    assert_eq!(woken(&bob), [""; 0], "the gate opened before its last try");
}

#[tokio::test]
async fn gate_that_opens_while_a_caller_rests_ends_its_rest() {
    let table = Table::default();
    for has_more in [false, true] {
        let ann = awake(&table, "ann de");
        let passed = PassedLines { is_far: true, has_more, ..held_up(&["+de"]) };
        ann.seat.begin_try();
        ann.seat.mark_passed(&passed);
        let rest = ann.seat.sleep_after(&passed);
        tokio::pin!(rest);
        assert!(rest.as_mut().now_or_never().is_none(), "it rests");
        table.gate(GATE);
        tokio::time::timeout(Duration::from_secs(60), rest).await.expect("it does not sleep");
        assert!(ann.seat.begin_try(), "it looks from the front");
    }
}

#[test]
fn held_up_caller_that_may_pass_jobs_on_does_so() {
    let table = Table::default();
    let callers = asleep(&table, &["ann de", "bob de"]);
    callers[0].pass(&PassedLines { for_others: true, ..held_up(&["+de"]) });
    assert_eq!(woken(&callers), ["bob de"], "ann has skipped another");
    table.gate(GATE);
    assert_eq!(woken(&callers), ["ann de"]);
}

#[test]
fn held_up_caller_that_leaves_asleep_hands_its_watch_on() {
    let table = Table::default();
    let mut callers = asleep(&table, &["ann de", "bob", "cleo de"]);
    callers[0].pass(&held_up(&["+de"]));
    assert_eq!(woken(&callers), [""; 0]);
    drop(callers.remove(0));
    assert_eq!(woken(&callers), ["cleo de"]);
    drop(callers.remove(1));
    assert_eq!(woken(&callers), [""; 0], "it was not held up");
    assert!(table.0.lock().queues[&QueueName::default()].held_up.is_empty());
}

#[test]
fn held_up_caller_that_is_served_hands_its_watch_on() {
    let table = Table::default();
    let (callers, ann) = (asleep(&table, &["bob", "cleo de"]), awake(&table, "ann de"));
    ann.pass(&held_up(&["+de"]));
    ann.seat.mark_served(&served(0));
    drop(ann);
    assert_eq!(woken(&callers), ["cleo de"]);
}
