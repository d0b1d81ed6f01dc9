//! The model test: random sequences of everything that can happen to a queue, done to a plain model in memory and to the
//! real queue, which must answer and look alike after each step.
//!
//! `cargo test --test model` runs this commit's share (tests/rotation.txt) of 1,200 sequences of 60 steps from a fixed seed. A long
//! run, from a seed of its own that it prints:
//!
//! ```sh
//! MODEL_SEED=random MODEL_CASES=50000 MODEL_STEPS=200 cargo test --test model -- --nocapture
//! ```
//!
//! With `INTRAY_MODEL_FORM=scripts` the same goes through scripts, as on a Redis that takes no library of functions.
//!
//! | where | what |
//! |---|---|
//! | `operations/` | what can happen, one operation a file: how it is drawn, called, and what the model does and answers |
//! | `chance`, `naming`, `work`, `fixtures` | what they draw from: themes, references to jobs, options of jobs, fixed values |
//! | `reference/` | the queue as the contract has it: jobs, reservations and their ends, gates, order, batches, time |
//! | `walk/` | runs a sequence on both, and compares after each step; recounts what must always be true |
//! | `real/` | the queue under test, its Redis, and eyes that read what lies there |
//! | `run`, `shrink` | many walks, and the smallest that fails |
//! | `differential`, `mirror`, `library` | each script on two servers: of this program and of an older one; `allowed.txt`: what may differ |
//! | `mutants`, `patch_scripts`, `hints` | faults in the scripts; the model must find each of them |
//!
//! When the two differ, the sequence is made as small as possible and shown step by step, with the command that runs it
//! again. The sequences are drawn and made smaller by proptest; its state machines are not used, as the model has to look
//! at what the real queue did to go on: secrets and the jitter of a backoff are its own.

mod chance;
mod differential;
mod fixtures;
mod hints;
mod library;
mod mirror;
mod mutants;
mod naming;
mod operations;
mod patch_scripts;
mod real;
mod reference;
mod rotation;
mod run;
mod shrink;
mod walk;
mod work;

/// The Redis with a movable clock is the stories' own.
#[path = "../service/world"]
mod world {
    #![expect(dead_code, reason = "the stories use more of it")]

    mod children;
    mod clock;
    mod engine;
    pub mod records;
    mod shim;

    pub use children::{ChildProcess, tool};
    pub use engine::Engine;

    /// Waits for a condition, with a deadline that only a broken program meets.
    pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        for _ in 0..6_000 {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("timed out waiting for: {what}")
    }
}

use intray::job::EventKind;
use operations::Op;
use patch_scripts::Edit;

#[test]
fn queue_behaves_like_the_model() {
    let plan = run::Plan::from_environment();
    println!("{plan}");
    let met = run::run(&plan).unwrap_or_else(|difference| panic!("{difference}"));
    for (what, times) in &met {
        println!("{times:8} {what}");
    }
    let events = EventKind::ALL.iter().map(|kind| format!("event {}", kind.word()));
    let wanted = events.chain(Op::must_be_met().into_iter().map(str::to_owned));
    let missed: Vec<_> = wanted.filter(|what| !met.contains_key(what.as_str())).collect();
    let is_long = plan.cases >= 1_000 && plan.case.is_none() && plan.share.is_all();
    assert!(!is_long || missed.is_empty(), "never met: {missed:?}");
}

/// A script looks at a limited number of jobs in line and the next one continues after them; the limit must not show.
#[test]
fn short_look_ahead_changes_no_outcome() {
    let edits = [
        ("s.ends or l.looked >= line.CANDIDATES or", "s.ends or l.looked >= 3 or"),
        ("math.min(line.CHUNK, line.CANDIDATES - l.looked)", "math.min(2, 3 - l.looked)"),
        ("from or 0, member or '', line.CHUNK)", "from or 0, member or '', 2)"),
    ];
    check_patched("short-sighted", 20, None, &edits);
}

/// A script makes a limited number of commands and the next one continues; the limit must not show. A purge runs whole here,
/// because a job that one of its scripts puts into line would be removed by the next.
#[test]
fn small_command_budget_changes_no_outcome() {
    let edits = |is_spent, has_left| {
        [
            ("q.calls >= CALLS", is_spent),
            ("q.calls + n <= CALLS", has_left),
            ("write.spend(q, BESIDES)", "write.spend(q, 0)"),
            (
                "if write.is_spent(q) then\n      step.more = true\n      break",
                "if false then\n      step.more = true\n      break",
            ),
        ]
    };
    let tight = edits("q.calls >= 12", "q.calls + n <= 12");
    check_patched("a little at a time", 15, Some(chance::Theme::Everything), &tight);
    check_patched("a little at a time", 30, Some(chance::Theme::Desk), &tight);
    // A caller with three skills looks into five lines first, with three commands each.
    let enough = edits("q.calls >= 30", "q.calls + n <= 30");
    check_patched("a few lines at a time", 15, Some(chance::Theme::Routing), &enough);
}

/// Runs a share of the sequences with patched scripts.
fn check_patched(how: &str, share: u64, theme: Option<chance::Theme>, edits: &[(&'static str, &'static str)]) {
    let edits = edits.iter().map(|&(from, to)| Edit { from, to }).collect();
    let plan = run::Plan::from_environment();
    let plan = run::Plan { cases: plan.cases / share, is_short_sighted: true, theme, edits, ..plan };
    run::run(&plan).unwrap_or_else(|difference| panic!("{how}: {difference}"));
}

/// Operations on hundreds of jobs run in steps, which must not show. A reserve of many jobs would give fewer after many that it
/// could not give, so its budget is off here.
#[test]
fn large_batches_behave_like_the_model() {
    let edits = vec![Edit { from: "return write.is_spent(q) or q.handout.read >= BODIES", to: "return false" }];
    let plan =
        run::Plan { cases: 40, steps: 30, theme: Some(chance::Theme::Many), edits, ..run::Plan::from_environment() };
    run::run(&plan).unwrap_or_else(|difference| panic!("of many: {difference}"));
}
