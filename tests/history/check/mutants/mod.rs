//! Tests of the checker: a valid history, and for each rule a change that violates it.

mod each_rule;
mod edits;
mod sample;
mod undo;

use std::collections::BTreeSet;

use self::{
    edits::{drop_event, each_job, event_of, expire, handed, set_overlap, settled},
    sample::{good, id, member, reservation},
};
use super::{RULES, check};
use crate::record::{Answer, Ask, Call, History, Refusal, ReportedItem, Way};

/// The rule, the violation, and the change that causes it.
type Mutation = (&'static str, &'static str, fn(&mut History));

fn all() -> impl Iterator<Item = &'static Mutation> {
    each_rule::MUTATIONS.iter().chain(undo::MUTATIONS)
}

#[test]
fn checker_accepts_a_valid_history() {
    let breaches = check(&good());
    assert!(breaches.is_empty(), "{}", super::report(&breaches));
}

#[test]
fn checker_accepts_a_question_that_two_workers_answer() {
    let mut history = good();
    set_overlap(&mut history);
    let breaches = check(&history);
    assert!(breaches.is_empty(), "{}", super::report(&breaches));
}

/// An event is as late as its call was slow: the expiry is counted from the time at which the enqueue read the clock.
#[test]
fn checker_counts_an_expiry_from_the_call_and_not_from_its_event() {
    for (slack, breaches) in [(3, 0), (11, 1)] {
        let mut history = good();
        let expired = event_of(&mut history, "cancelled", &id(8));
        expired.reason = Some("expired".to_owned());
        let end = expired.position.0;
        let enqueued = event_of(&mut history, "enqueued", &id(8)).position.0;
        let expires_ms = end - enqueued + slack;
        each_job(&mut history, |job| job.expires_ms = (job.n == 8).then_some(expires_ms));
        let found = check(&history);
        let early = found.iter().filter(|breach| breach.rule.contains("expires"));
        assert_eq!(early.count(), breaches, "{slack} ms: {}", super::report(&found));
    }
}

/// The delay may be longer than the time that is left. No other valid call gets this refusal, nor another item of the same call.
#[test]
fn checker_accepts_a_refused_delay_of_a_job_that_expires() {
    for (expires_ms, delay_ms, is_alone, breaches) in [
        (Some(1 << 40), Some(1), true, 0),
        (None, Some(1), true, 1),
        (Some(1 << 40), None, true, 1),
        (Some(1 << 40), Some(1), false, 1),
    ] {
        let mut history = good();
        expire(&mut history, expires_ms);
        let refusal = Refusal { status: 422, slug: "invalid-request".to_owned(), unsure: false };
        let refused = || ReportedItem { error: Some(refusal.clone()), ..ReportedItem::default() };
        let answer = if is_alone { Answer::Refused(refusal.clone()) } else { Answer::Done(vec![refused(), refused()]) };
        settled(&mut history, Way::Abandon, &reservation(&id(2), 1), None, answer);
        let Some(Ask::Settle { items, .. }) = history.calls.last_mut().map(|call| &mut call.ask) else {
            unreachable!()
        };
        if !is_alone {
            items.push(items[0].clone());
        }
        items[0].delay_ms = delay_ms;
        assert_strange(&history, breaches, &format!("{expires_ms:?} {delay_ms:?} {is_alone}"));
    }
}

/// An instance that stood still counts the reads that its caller has given up.
#[test]
fn checker_accepts_a_rate_limit_of_reads_alone() {
    let look = Ask::Look { path: "/queues".to_owned() };
    let cancel = Ask::Cancel { id: id(1), force: false };
    for (ask, breaches) in [(look, 0), (cancel, 1)] {
        let mut history = good();
        let refusal = Refusal { status: 429, slug: "rate-limited".to_owned(), unsure: false };
        let last = history.calls.last().expect("one").clone();
        history.calls.push(Call { ask, answer: Answer::Refused(refusal), begin: last.end, ..last });
        assert_strange(&history, breaches, "a limit of reads");
    }
}

fn assert_strange(history: &History, breaches: usize, what: &str) {
    let found = check(history);
    let strange = found.iter().filter(|breach| breach.rule.contains("documented reason"));
    assert_eq!(strange.count(), breaches, "{what}: {}", super::report(&found));
}

/// What becomes of the first decides whether the same worker may have the second.
#[test]
fn checker_forgets_the_part_of_a_job_cancelled_while_held() {
    for (kind, breaches) in [("cancelled", 0), ("expired", 1)] {
        let mut history = good();
        set_overlap(&mut history);
        kind.clone_into(&mut event_of(&mut history, "completed", &member(1)).kind);
        event_of(&mut history, "reserved", &member(2)).worker = Some("ann".to_owned());
        let found = check(&history);
        let both = found.iter().filter(|breach| breach.rule == "no worker is given two jobs of a question");
        assert_eq!(both.count(), breaches, "{kind}: {}", super::report(&found));
    }
}

/// From then on the receiver has it.
#[test]
fn checker_accepts_that_who_handed_a_job_over_gets_no_draft_back() {
    for (is_handed_over, breaches) in [(true, 0), (false, 1)] {
        let mut history = good();
        let again = reservation(&id(1), 2);
        handed(&mut history, &again).draft = None;
        let end = history.calls.iter_mut().find_map(|call| match &mut call.ask {
            Ask::Settle { way, .. } if *way == Way::Abandon => Some(way),
            _ => None,
        });
        if is_handed_over {
            *end.expect("the first reservation ends so") = Way::HandOver;
        }
        let found = check(&history);
        let missed = found.iter().filter(|breach| breach.rule == "drafts come back");
        assert_eq!(missed.count(), breaches, "{is_handed_over}: {}", super::report(&found));
    }
}

#[test]
fn checker_finds_a_violation_of_each_rule() {
    for (rule, what, spoil) in all() {
        let mut history = good();
        spoil(&mut history);
        let breaches = check(&history);
        assert!(breaches.iter().any(|breach| breach.rule == *rule), "{rule}: {what}\n{}", super::report(&breaches));
    }
    let tried: BTreeSet<_> = all().map(|(rule, ..)| *rule).collect();
    let untried: Vec<_> = RULES.iter().map(|(rule, _)| *rule).filter(|rule| !tried.contains(rule)).collect();
    assert!(untried.is_empty(), "nothing shows that these find anything: {untried:?}");
}

/// An unknown answer allows both outcomes.
#[test]
fn unknown_answers_allow_both_outcomes() {
    for happened in [true, false] {
        let mut history = good();
        let call = history.calls.iter_mut().find(|call| matches!(call.ask, Ask::Settle { way: Way::Extend, .. }));
        call.expect("one").answer = Answer::Unknown;
        if !happened {
            drop_event(&mut history, "extended", &id(1));
            handed(&mut history, &reservation(&id(1), 2)).draft = None;
        }
        let breaches = check(&history);
        assert!(breaches.is_empty(), "{happened}: {}", super::report(&breaches));
    }
}

#[test]
fn history_file_holds_the_whole_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.ndjson");
    let (record, written) = crate::record::Recorder::start(&path).expect("a file");
    let good = good();
    record.add(crate::record::Entry::Plan(good.plans.clone()));
    good.calls.iter().for_each(|call| record.add(crate::record::Entry::Call(call.clone())));
    good.events.iter().for_each(|event| record.add(crate::record::Entry::Event(event.clone())));
    let feeds = good.feeds.iter().map(|(queue, ids)| (queue.clone(), ids.clone()));
    feeds.for_each(|(queue, ids)| record.add(crate::record::Entry::Feed { queue, ids }));
    record.add(crate::record::Entry::Delivered(good.delivered.clone().expect("a list")));
    record.add(crate::record::Entry::Posted(good.posted.clone()));
    good.ends.iter().for_each(|end| record.add(crate::record::Entry::End(end.clone())));
    drop(record);
    assert_eq!(written.join().expect("a thread").expect("written"), good);
    assert_eq!(crate::record::read(&path).expect("read"), good);
}
