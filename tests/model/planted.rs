//! Faults planted into the scripts, one at a time: the model must find each of them soon.

use crate::{
    chance::Theme,
    editing::Edit,
    run::{self, Plan},
};

/// What is wrong, the text of the scripts, and what stands there instead.
const FAULTS: &[(&str, &str, &str)] = &[
    ("a reservation that ended stays in `reserved`", "add(leave_reserved, id)\n  add(leave_held", "add(leave_held"),
    ("a reservation that ended stays in `held`", "add(leave_held, held_member(hold, id))\n  if how", "if how"),
    ("an ended job keeps its dedupe key", "add(freed_keys, digests[i])", ""),
    (
        "an expiry counts no attempt",
        "r.attempts = r.expired + 1, r.attempts + 1",
        "r.attempts = r.expired + 1, r.attempts",
    ),
    ("a reservation is live at its very deadline", "if now < job.deadline then", "if now <= job.deadline then"),
    ("V falls", "if turn > v then", "if turn ~= v then"),
    ("V comes up to whom it passed over", "first and math.min(score, first - 1) or score", "score"),
    ("a client's turn is not remembered", "math.max(top(priority), share.last) + 1", "top(priority) + 1"),
    ("a turn is not given back", "r.unserved = false\n", "do return end\n"),
    ("the last turn is not free again", "if turn == share.last then share.last = turn - 1 end", ""),
    ("the queue's own clock steps back", "math.max(last + 1, now * 64)", "now * 64"),
    ("equal places go by chance", "struct.pack('>I6', arrival) .. id", "struct.pack('>I6', 0) .. id"),
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
        "set_use(gate, false)\n      end\n    end\n    pass_batons(id, header)",
        "set_use(gate, false)\n      end\n    end",
    ),
    (
        "no baton is passed when a job is parked",
        "park(id, r, header, gate)\n  pass_batons(id, header)",
        "park(id, r, header, gate)",
    ),
    (
        "no baton is passed when a job in line is cancelled",
        "leave_line(id, r)\n    pass_batons(id, header)",
        "leave_line(id, r)",
    ),
    ("two hold one lock", "if is_lock(gate) then return false end", "if is_lock(gate) then return true end"),
    (
        "a cancelled job stays parked",
        "if r.state == 2 then\n    unpark(id, r)\n  elseif",
        "if r.state == 2 then\n    r.gate = ''\n  elseif",
    ),
    ("a job of a batch is counted where it was", "if from then b.counts[from] = b.counts[from] - 1 end", ""),
    ("a batch ends while somebody holds a job of it", " + b.counts[3] + b.counts[4]", " + b.counts[3]"),
    ("the gate of a batch that is over stays", r"add(unneeded, '\0' .. code)", ""),
    ("whom a script has parked it does not know", "for member in pairs(those.came) do", "for member in pairs({}) do"),
    (
        "a job that comes back into line stays parked",
        "is_parked[member], moved[member], those_at(gate).came[member] = false",
        "is_parked[member], moved[member], those_at(gate).came[member] = nil",
    ),
    (
        "a lock that was freed is held for the rest of the script",
        "uses[gate], uses_moved[gate] = use, true",
        "uses_moved[gate] = true",
    ),
    (
        "a job of a cancelled batch comes back",
        "return is_member(header) and is_marked(read_batch(batch_of(id)), 2)",
        "return false",
    ),
];

/// Faults in what people type, skip and come back to.
const FAULTS_AT_A_DESK: &[(&str, &str, &str)] = &[
    ("the draft of an ended job stays", "add(drop_drafts, id)", ""),
    (
        "a draft is removed after another was kept",
        "ask('HDEL', drafts, id)\n  elseif",
        "add(drop_drafts, id)\n  elseif",
    ),
    ("a draft is given to another", "if shares_drafts or owner == worker and worker ~= '' then", "if true then"),
    ("a draft is not shared", "if shares_drafts or owner", "if owner"),
    ("nobody in particular is taken for one person", "owner == worker and worker ~= ''", "owner == worker"),
    ("a skip is forgotten", "if skips then skip(r, worker) end", ""),
    ("a job that one has skipped is hidden from all", "if name == worker then", "if name then"),
    ("a skip with a grace is forgotten", "if is_marked_hold(hold, 4) then skip(r, hold.worker) end", ""),
    ("a skip outlives a requeue", "r.attempts, r.skips = 0, ''", "r.attempts = 0"),
    ("nobody in particular skips a job", "if skips and worker == '' then return {'unnamed'} end", ""),
    (
        "the end of a grace counts an attempt",
        "r.abandoned = r.abandoned + 1\n    if",
        "r.abandoned, r.attempts = r.abandoned + 1, r.attempts + 1\n    if",
    ),
    ("the beacon of an older page ends the newer reservation", "if resumes >= 0 and resumes <", "if resumes >"),
    (
        "who has come back is leaving still",
        "hold.nonce, hold.resumes, hold.marks = nonce, hold.resumes + 1, 0",
        "hold.nonce, hold.resumes = nonce, hold.resumes + 1",
    ),
    (
        "who goes on is leaving still",
        "if is_marked_hold(hold, 1) then\n    hold.marks",
        "if false then\n    hold.marks",
    ),
    ("a grace is longer than the lease", "math.min(job.deadline, now + grace)", "now + grace"),
    ("the end of a grace is taken for done", "local done = how == 6 or how == 7", "local done = how >= 6"),
];

/// Sequences that a fault may live through.
const SOON: u64 = 100;

#[test]
fn every_planted_fault_is_found() {
    let faults = FAULTS.iter().map(|fault| (None, fault));
    let faults_at_a_desk = FAULTS_AT_A_DESK.iter().map(|fault| (Some(Theme::Desk), fault));
    for (theme, &(fault, from, to)) in faults.chain(faults_at_a_desk) {
        let plan = Plan { cases: SOON, theme, edits: vec![Edit { from, to }], ..Plan::fixed() };
        match run::first_failure(&plan) {
            Ok(Some((_, difference))) if difference.contains("Error compiling") => panic!("{fault}: {difference}"),
            Ok(Some((case, difference))) => {
                let what = difference.lines().next().unwrap_or_default();
                println!("{fault}: found by sequence {case}: {what}");
            }
            Ok(None) => panic!("{fault}: {SOON} sequences have not found it"),
            Err(why) => panic!("{fault}: {why}"),
        }
    }
}
