//! The model test: random sequences of everything that can happen to a queue, done to a plain model in memory and to the
//! real queue, which must answer and look alike after each step.
//!
//! `cargo test --test model` runs 1,800 sequences of 60 steps from a fixed seed. A long run, from a seed of its own that
//! it prints:
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
//! | `chance`, `naming`, `work`, `words` | what they draw from: themes, what they name, what jobs say, a small world |
//! | `reference/` | the queue as the contract has it: jobs, reservations and their ends, gates, order, batches, time |
//! | `walk/` | runs a sequence on both, and compares after each step; recounts what must always be true |
//! | `real/` | the queue under test, its Redis, and eyes that read what lies there |
//! | `run`, `smaller` | many walks, and the smallest that fails |
//! | `planted`, `editing` | faults in the scripts, each of which must be found |
//!
//! When the two differ, the sequence is made as small as it gets and told step by step, with the command that runs it
//! again. The sequences are drawn and made smaller by proptest; its state machines are not used, as the model has to look
//! at what the real queue did to go on: secrets and the jitter of a backoff are its own.

mod chance;
mod editing;
mod naming;
mod operations;
mod planted;
mod real;
mod reference;
mod run;
mod smaller;
mod walk;
mod words;
mod work;

/// The Redis with a movable clock is the stories' own.
#[path = "../service/world"]
mod world {
    #![expect(dead_code, reason = "the stories use more of it")]

    mod children;
    mod clock;
    mod engine;
    mod shim;

    pub use engine::Engine;

    /// Waits for a condition, with a deadline that only a broken program meets.
    async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        for _ in 0..6_000 {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("it never happened: {what}")
    }
}

use editing::{Edit, NOTHING_IS_PLAIN};
use intray::job::EventKind;
use operations::Op;

#[test]
fn the_queue_does_what_the_model_says() {
    let plan = run::Plan::from_environment();
    println!("{plan}");
    let met = run::run(&plan).unwrap_or_else(|difference| panic!("{difference}"));
    for (what, times) in &met {
        println!("{times:8} {what}");
    }
    let events = EventKind::ALL.iter().map(|kind| format!("event {}", kind.word()));
    let wanted = events.chain(Op::must_be_met().into_iter().map(str::to_owned));
    let missed: Vec<_> = wanted.filter(|what| !met.contains_key(what.as_str())).collect();
    assert!(plan.cases < 1_000 || plan.case.is_some() || missed.is_empty(), "never met: {missed:?}");
}

/// A script looks at no more than so many jobs of the line, and the next goes on behind them: where that is does not
/// show.
#[test]
fn a_short_sighted_queue_is_no_different() {
    let edits = [
        ("l.looked < line.CANDIDATES then", "l.looked < 3 then"),
        ("math.min(line.CHUNK, line.CANDIDATES - l.looked)", "math.min(2, 3 - l.looked)"),
        ("call.place, call.member, line.CHUNK)", "call.place, call.member, 2)"),
        ("'', '', line.CHUNK)", "'', '', 2)"),
    ];
    is_no_different("short-sighted", 20, edits);
}

/// A script asks Redis for only so much, and the next goes on with the rest: where a list was cut does not show. But a purge
/// is whole here: what comes into line by one of its scripts goes by the next, if there is one.
#[test]
fn a_queue_that_does_little_at_a_time_is_no_different() {
    let edits = [
        ("q.calls >= CALLS", "q.calls >= 12"),
        ("q.calls + n <= CALLS", "q.calls + n <= 12"),
        ("write.spend(q, BESIDES)", "write.spend(q, 0)"),
        (
            "if write.is_spent(q) then\n      step.more = true\n      break",
            "if false then\n      step.more = true\n      break",
        ),
    ];
    is_no_different("a little at a time", 10, edits);
}

/// Of the sequences only a share.
fn is_no_different(how: &str, share: u64, edits: [(&'static str, &'static str); 4]) {
    let edits = edits.map(|(from, to)| Edit { from, to }).into_iter().chain([NOTHING_IS_PLAIN]).collect();
    let plan = run::Plan::from_environment();
    let plan = run::Plan { cases: plan.cases / share, is_short_sighted: true, edits, ..plan };
    run::run(&plan).unwrap_or_else(|difference| panic!("{how}: {difference}"));
}

/// Whatever is done to hundreds of jobs is done in steps, and nobody sees them; but that a reserve of many gives fewer when
/// it has met many that it could not give, so here it does not.
#[test]
fn large_batches_are_no_different() {
    let edits = vec![Edit { from: "return write.is_spent(q) or q.hand.read >= BODIES", to: "return false" }];
    let plan =
        run::Plan { cases: 40, steps: 30, theme: Some(chance::Theme::Many), edits, ..run::Plan::from_environment() };
    run::run(&plan).unwrap_or_else(|difference| panic!("of many: {difference}"));
}
