//! Who is woken for which jobs, and in which order.

mod gates;

use std::{sync::mpsc, thread, time::Duration};

use futures_util::FutureExt;

use super::*;
use crate::{
    job::Millis,
    store::{GateMark, PassedLines, ReserveOutcome},
};

/// A caller of the queue `default` and one that no other waits for, with its name and skills in one text: "bob", "bob de fr",
/// " de" without a name.
struct Sleeper<'t> {
    text: &'static str,
    seat: Registration<'t>,
}

impl Sleeper<'_> {
    /// Sleeps, or has been woken since it last slept.
    fn is_woken(&self) -> bool {
        self.seat.sleep().now_or_never().is_some()
    }

    /// Tries, and is given nothing.
    fn pass(&self, passed: &PassedLines) {
        self.seat.table.0.lock().shift(self.seat.number, |queue| (&mut queue.asleep, &mut queue.awake));
        self.seat.mark_passed(passed);
    }
}

fn awake<'t>(table: &'t Table, text: &'static str) -> Sleeper<'t> {
    let mut words = text.split(' ');
    let worker = words.next().filter(|name| !name.is_empty()).map(|name| Name::parse(name).expect("a name"));
    let skills: Vec<_> = words.map(|skill| Skill::parse(skill).expect("a skill")).collect();
    let other = QueueName::parse(&format!("q{}", table.0.lock().next)).expect("a name");
    let (seat, _) = table.enter(&[QueueName::default(), other], worker.as_ref(), &skills);
    Sleeper { text, seat }
}

fn asleep<'t>(table: &'t Table, texts: &[&'static str]) -> Vec<Sleeper<'t>> {
    let callers: Vec<_> = texts.iter().map(|text| awake(table, text)).collect();
    assert_eq!(woken(&callers), [""; 0]);
    callers
}

/// The callers that have been woken since they last slept, which they do now.
fn woken(callers: &[Sleeper<'_>]) -> Vec<&'static str> {
    let woken: Vec<_> = callers.iter().filter(|caller| caller.is_woken()).collect();
    woken.iter().for_each(|caller| assert!(!caller.is_woken(), "{} is woken once", caller.text));
    woken.iter().map(|caller| caller.text).collect()
}

/// The marks of two gates.
const GATE: &str = "0000000a";
const OTHER: &str = "0000000b";

/// A hint, and those whom it wakes.
type LineCase = (&'static [(&'static str, u64)], &'static [&'static str]);

fn lines(texts: &[&str]) -> Vec<Line> {
    texts.iter().map(|text| Line::parse(text).expect("a line")).collect()
}

impl Table {
    fn hint(&self, lines: &[(&str, u64)]) {
        let lines: Vec<_> = lines.iter().map(|(line, n)| (Line::parse(line).expect("a line"), *n)).collect();
        self.wake_lines(&QueueName::default(), &lines);
    }

    fn gate(&self, gate: &str) {
        self.wake_held_up(&QueueName::default(), &OpenedGates { any: false, marks: gates(&[gate]) });
    }
}

fn gates(marks: &[&str]) -> BTreeSet<GateMark> {
    marks.iter().map(|mark| GateMark::parse(mark).expect("a mark")).collect()
}

fn passed(common_line: bool, of: &[&str]) -> PassedLines {
    PassedLines { common_line, lines: lines(of), for_others: true, ..PassedLines::default() }
}

fn held_up_by(marks: &[&str], of: &[&str]) -> PassedLines {
    PassedLines { lines: lines(of), gates: gates(marks), ..PassedLines::default() }
}

fn held_up(of: &[&str]) -> PassedLines {
    held_up_by(&[GATE], of)
}

fn served(remaining: u64) -> Result<ReserveOutcome, Fault> {
    let (jobs, undo, unavailable) = Default::default();
    Ok(ReserveOutcome::Jobs { jobs, remaining, now: Millis(0), undo, unavailable })
}

#[test]
fn line_wakes_the_oldest_of_those_who_may_have_its_jobs() {
    let table = Table::default();
    let callers = asleep(&table, &["", "ann", "bob", "cleo de", " de fr", "dan de", "bob fr"]);
    let rows: [LineCase; 9] = [
        (&[("@bob", 1)], &["bob"]),
        (&[("@bob", 5)], &["bob", "bob fr"]),
        (&[("@eve", 5)], &[]),
        (&[("+ann", 1)], &[]),
        (&[("+de", 1)], &["cleo de"]),
        (&[("+de", 2)], &["cleo de", " de fr"]),
        (&[("+de", 0)], &[]),
        (&[("+de", u64::MAX)], &["cleo de", " de fr", "dan de"]),
        (&[("+fr", 1), ("@ann", 1)], &["ann", " de fr"]),
    ];
    for (hint, those) in rows {
        table.hint(hint);
        assert_eq!(woken(&callers), those, "{hint:?}");
    }
}

#[test]
fn caller_woken_for_one_line_takes_no_job_of_another() {
    let table = Table::default();
    let callers = asleep(&table, &["bob de", "ann de"]);
    table.hint(&[("@bob", 1), ("+de", 1)]);
    assert_eq!(woken(&callers), ["bob de", "ann de"]);
    table.hint(&[("+de", 1)]);
    table.hint(&[("+de", 1)]);
    assert_eq!(woken(&callers), ["bob de", "ann de"], "two hints before the first has tried");
}

#[test]
fn awake_callers_try_again_if_they_may_have_a_job_of_the_line() {
    let table = Table::default();
    let (sleeper, tries) =
        (asleep(&table, &["ann de"]), ["", "bob", "cleo de", "dan fr"].map(|text| awake(&table, text)));
    table.hint(&[("+de", 1), ("@bob", 0)]);
    assert_eq!((woken(&sleeper), woken(&tries)), (vec!["ann de"], vec!["cleo de"]));
}

#[test]
fn passed_line_wakes_the_next_who_may_look_into_it() {
    let table = Table::default();
    let callers = asleep(&table, &["a de", "b", "c de", "d fr", "e de"]);
    let rows: [(usize, PassedLines, &[&str]); 7] = [
        (0, passed(false, &["+de"]), &["c de"]),
        (2, passed(false, &["+de"]), &["e de"]),
        (4, passed(false, &["+de"]), &[]),
        (0, passed(true, &[]), &["b"]),
        (0, passed(true, &["+de", "@e"]), &["b", "c de", "e de"]),
        (1, passed(true, &["+de"]), &["c de"]),
        (0, passed(false, &[]), &[]),
    ];
    for (n, passed, those) in rows {
        callers[n].pass(&passed);
        assert_eq!(woken(&callers), those, "{n}: {passed:?}");
    }
}

#[test]
fn caller_that_leaves_awake_wakes_the_next_of_each_of_its_lines() {
    for (outcome, those) in
        [(None, vec!["x", "y de", "ann fr"]), (Some(served(1)), vec!["x", "y de", "ann fr"]), (Some(served(0)), vec![])]
    {
        let table = Table::default();
        let callers = asleep(&table, &["x", "y de", "ann fr", "z de"]);
        let ann = awake(&table, "ann de");
        if let Some(outcome) = &outcome {
            ann.seat.mark_served(outcome);
        }
        drop(ann);
        assert_eq!(woken(&callers), those, "{outcome:?}");
    }
}

#[test]
fn lines_of_sleeping_callers_come_once_and_in_pages() {
    let table = Table::default();
    let callers = asleep(&table, &["bob de", "ann de fr", "", "ann fr"]);
    let page = |after: Option<&str>, max| {
        let after = after.map(|line| lines(&[line]).remove(0));
        let page = table.sleeping_lines(&QueueName::default(), after.as_ref(), max);
        page.iter().map(Line::to_string).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 9), ["@ann", "@bob", "+de", "+fr"]);
    assert_eq!(page(None, 3), ["@ann", "@bob", "+de"]);
    assert_eq!(page(Some("+de"), 3), ["+fr"]);
    assert_eq!(page(Some("@b"), 1), ["@bob"], "after a line that is gone");
    assert_eq!(page(Some("+fr"), 3), [""; 0]);
    table.hint(&[("@bob", 1)]);
    assert_eq!(page(None, 9), ["@ann", "+de", "+fr"], "bob is awake");
    drop(callers);
    assert_eq!(page(None, 9), [""; 0]);
}

/// The time of a caller's part: a hint wakes it, it passes a job on, is held up, and leaves awake.
fn time_per_caller(sleepers: u32) -> Duration {
    let (table, queue) = (Table::default(), [QueueName::default()]);
    let skills = [Skill::parse("de").expect("a skill")];
    let name = |n: u32| Name::parse(&n.to_string()).expect("a name");
    let seats: Vec<_> = (0..sleepers).map(|n| table.enter(&queue, Some(&name(n)), &skills).0).collect();
    seats.iter().for_each(|seat| assert!(seat.sleep().now_or_never().is_none()));
    let begin = Instant::now();
    for (n, seat) in seats.iter().enumerate() {
        table.wake_lines(&queue[0], &[(Line::Worker(name(n as u32)), 1)]);
        assert!(seat.sleep().now_or_never().is_some(), "{n} is woken");
        seat.mark_passed(&passed(false, &["+de"]));
        seat.mark_passed(&held_up(&["+de"]));
    }
    table.wake_lines(&queue[0], &[(Line::Skill(skills[0].clone()), u64::from(sleepers))]);
    assert!(table.sleeping_lines(&queue[0], None, 1).is_empty(), "all are awake");
    drop(seats);
    begin.elapsed() / sleepers
}

#[test]
fn hint_costs_the_same_with_ten_thousand_sleepers() {
    let quickest = |sleepers, rounds| (0..rounds).map(|_| time_per_caller(sleepers)).min().expect("rounds");
    let (few, many) = (quickest(100, 20), quickest(10_000, 3));
    assert!(many < few * 15, "{many:?} with 10,000 sleepers and {few:?} with 100");
}

/// A caller comes and goes while watches close the queue whenever it is empty. A queue that stayed without a watch would
/// never be read.
#[test]
fn caller_that_enters_as_the_watch_ends_gets_a_new_watch() {
    let (table, queue) = (&Table::default(), &QueueName::parse("q").expect("a name"));
    let (sender, watches) = mpsc::channel::<QueueName>();
    thread::scope(|scope| {
        scope.spawn(move || {
            for queue in watches {
                while !table.close_queue(&queue) {
                    std::hint::spin_loop();
                }
            }
        });
        for _ in 0..20_000 {
            let (seat, unwatched) = table.enter(std::slice::from_ref(queue), None, &[]);
            unwatched.into_iter().for_each(|queue| sender.send(queue).expect("watches"));
            drop(seat);
        }
        drop(sender);
    });
    assert!(table.0.lock().queues.is_empty(), "a queue without a watch");
}
