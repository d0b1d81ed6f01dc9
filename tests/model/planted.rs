//! Faults planted into the scripts, one at a time: the model must find each of them soon.

use crate::{
    editing::Edit,
    run::{self, Plan},
};

/// What is wrong, the text of the scripts, and what stands there instead.
const FAULTS: &[(&str, &str, &str)] = &[
    ("a reservation that ended stays in `reserved`", "add(leave_reserved, id)\n  add(leave_held", "add(leave_held"),
    ("a reservation that ended stays in `held`", "add(leave_held, held_member(hold, id))\n  if how", "if how"),
    ("an ended job keeps its dedupe key", "add(freed_keys, header.digest)", ""),
    (
        "an expiry counts no attempt",
        "r.attempts = r.expired + 1, r.attempts + 1",
        "r.attempts = r.expired + 1, r.attempts",
    ),
    ("a reservation is live at its very deadline", "if now < job.deadline then", "if now <= job.deadline then"),
    ("V falls", "if turn > top(priority) then", "if turn ~= top(priority) then"),
    ("a client's turn is not remembered", "lasts_moved[member] = score, true", "lasts_moved[member] = score, nil"),
    (
        "a result before the latest reservation's is taken",
        "(how == 1 or how == 8) and entry == 1 and",
        "(how == 1 or how == 8) and",
    ),
    ("a replayed reservation is undone", " or job.hold.marks > 0", ""),
    ("late results outlive their job", r"add(drop_results, id .. '\0' .. slot)", ""),
    (
        "the gates of an expired reservation are not freed",
        "if is_gated(header) then free_gates(id, header) end",
        "if is_gated(header) and how ~= 1 then free_gates(id, header) end",
    ),
    (
        "no baton is passed when a reservation ends",
        "redis.call('HDEL', gates, gate)\n    end\n  end\n  pass_batons(id, header)",
        "redis.call('HDEL', gates, gate)\n    end\n  end",
    ),
    (
        "no baton is passed when a job is parked",
        "park(id, r, header, gate)\n  pass_batons(id, header)",
        "park(id, r, header, gate)",
    ),
    (
        "no baton is passed when a job in line is cancelled",
        "redis.call('ZREM', inbound, id)\n    if is_gated(header) then pass_batons(id, header) end",
        "redis.call('ZREM', inbound, id)",
    ),
    ("two hold one lock", "if is_lock(gate) then return false end", "if is_lock(gate) then return true end"),
    (
        "a cancelled job stays parked",
        "if r.state == 2 then\n    unpark(id, r)\n  elseif",
        "if r.state == 2 then\n    r.gate = ''\n  elseif",
    ),
    ("a job of a batch is counted where it was", "if from then b.counts[from] = b.counts[from] - 1 end", ""),
    ("a batch ends while somebody holds a job of it", " + b.counts[3] + b.counts[4]", " + b.counts[3]"),
    ("the gate of a batch that is over stays", r"redis.call('HDEL', gates, '\0' .. code)", ""),
    (
        "a job of a cancelled batch comes back",
        "return is_member(header) and is_marked(read_batch(batch_of(id)), 2)",
        "return false",
    ),
];

/// Sequences that a fault may live through.
const SOON: u64 = 100;

#[test]
fn every_planted_fault_is_found() {
    let plan = Plan { cases: SOON, ..Plan::fixed() };
    for &(fault, from, to) in FAULTS {
        match run::first_failure(&plan, Edit { from, to }) {
            Ok(Some((case, difference))) => {
                let what = difference.lines().next().unwrap_or_default();
                println!("{fault}: found by sequence {case}: {what}");
            }
            Ok(None) => panic!("{fault}: {SOON} sequences have not found it"),
            Err(why) => panic!("{fault}: {why}"),
        }
    }
}
