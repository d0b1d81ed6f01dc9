//! Mutants: faults in the scripts, one at a time. The model must find each of them soon.

mod desk;
mod handout;
mod lapse;
mod limits;
mod lines;
mod parts;
mod routing;
mod undo;

use std::collections::BTreeSet;

use tokio::runtime::Builder;

use crate::{
    chance::Theme,
    differential, hints,
    patch_scripts::Edit,
    real::Real,
    rotation::Rotation,
    run::{self, Plan},
};

/// Description, text of the scripts, and its replacement.
type Fault = (&'static str, &'static str, &'static str);

/// Mutants of jobs, their reservations, their order, gates and batches.
const MUTANTS: &[Fault] = &[
    ("a skip outlives a requeue", "r.attempts, r.skips = 0, ''", "r.attempts = 0"),
    (
        "a reservation that ended stays in `reserved`",
        "write.remove(q, 'reserved', id)\n  write.remove(q, 'held', record.held(lease, id))\n  part.leave",
        "write.remove(q, 'held', record.held(lease, id))\n  part.leave",
    ),
    (
        "a reservation that ended stays in `held`",
        "write.remove(q, 'held', record.held(lease, id))\n  part.leave",
        "part.leave",
    ),
    ("an ended job keeps its dedupe key", "then\n      write.delete(q, 'dedupe', digest)", "then"),
    (
        "an expiry counts no attempt",
        "r.attempts = r.expired + 1, r.attempts + 1",
        "r.attempts = r.expired + 1, r.attempts",
    ),
    (
        "a reservation is live at its very deadline",
        "if clock.now(q) < job.deadline then return job",
        "if clock.now(q) <= job.deadline then return job",
    ),
    ("V falls", "if turn > v then", "if turn ~= v then"),
    ("V does not rise", "if turn > v then", "if false then"),
    ("V rises to a job that was passed over", "first and min(score, first - 1) or score", "score"),
    (
        "a client's turn is not remembered",
        "max(top(q, state, priority), share.last) + 1",
        "top(q, state, priority) + 1",
    ),
    (
        "turns that a call has given are read again",
        "missing(q.turns, members, state.shares)",
        "missing(q.turns, members, {})",
    ),
    ("a turn is not given back", "r.unserved = false\n", "do return end\n"),
    ("the last turn is not free again", "elseif turn == share.last then", "elseif false then"),
    ("the queue's own clock steps back", "max(last + 1, clock.now(q) * clock.PER_MS)", "clock.now(q) * clock.PER_MS"),
    ("equal places go by chance", "return pack('>I6', arrival) .. id", "return pack('>I6', 0) .. id"),
    (
        "a result before the latest reservation's is taken",
        "if entry == 1 and is_open(q, job, worker) then",
        "if is_open(q, job, worker) then",
    ),
    ("a replayed reservation is undone", " or job.lease.marks > 0", ""),
    ("late results outlive their job", r"write.delete(q, 'results', id .. '\0' .. slot)", ""),
    (
        "the gates of an expired reservation are not freed",
        "if record.is_gated(header) then baton.free_gates(q, id, header) end",
        "if record.is_gated(header) and how ~= ended.EXPIRED then baton.free_gates(q, id, header) end",
    ),
    (
        "a reservation that ends takes the history with it",
        "r.history = record.remember(r.history, entry)",
        "r.history = entry",
    ),
    (
        "a job that fell due has no turn to give back",
        "order.new_place(q, priority, client), stamp.new(q), true",
        "order.new_place(q, priority, client), stamp.new(q), false",
    ),
    (
        "no baton is passed when a reservation ends",
        "gate.set_use(q, name, false)\n    end\n  end\n  baton.pass_all(q, id, header)",
        "gate.set_use(q, name, false)\n    end\n  end",
    ),
    (
        "no baton is passed when a job is parked",
        "baton.park(q, job.id, job.record, job.header, name)\n  baton.pass_all(q, job.id, job.header)",
        "baton.park(q, job.id, job.record, job.header, name)",
    ),
    (
        "no baton is passed when a job in line is cancelled",
        "lines.leave(q, id, r, header)\n  if not routing.lines(q, id, header) then baton.pass_all(q, id, header) end",
        "lines.leave(q, id, r, header)",
    ),
    ("two hold one lock", "if gate.is_lock(name) then return false end", "if gate.is_lock(name) then return true end"),
    (
        "a cancelled job stays parked",
        "if r.state == record.BLOCKED then\n    baton.unpark(q, id, r)\n  elseif",
        "if r.state == record.BLOCKED then\n    r.gate = ''\n  elseif",
    ),
    ("a job of a batch is counted where it was", "if from then b.counts[from] = b.counts[from] - 1 end", ""),
    ("a batch does not end", "if ends_now(b) then", "if false then"),
    ("a batch ends while a job of it is reserved", "counts[DELAYED] + counts[RESERVED] == 0", "counts[DELAYED] == 0"),
    ("the gate of a batch that is over stays", r"write.delete(q, 'gates', '\0' .. code)", ""),
    (
        "a script does not see the jobs that it parked",
        "parked[parked.first], parked.added[1]",
        "parked[parked.first], nil",
    ),
    (
        "a job that comes back into line stays parked",
        "state.is_parked[member], state.moved[member] = is_parked, true",
        "state.is_parked[member], state.moved[member] = is_parked or nil, true",
    ),
    (
        "a lock that was freed is held for the rest of the script",
        "state.uses[name], state.moved[name] = use, true",
        "state.moved[name] = true",
    ),
    (
        "a job of a cancelled batch comes back",
        "return record.is_member(header) and batch.is_marked(batch.read(q, batch.of(id)), batch.TO_CANCEL)",
        "return false",
    ),
];

const ROUTING: Option<Theme> = Some(Theme::Routing);

/// The lists: what their sequences are about, and the faults.
const LISTS: [(Option<Theme>, &[Fault]); 10] = [
    (None, MUTANTS),
    (Some(Theme::Desk), desk::MUTANTS),
    (None, handout::MUTANTS),
    (Some(Theme::Lists), handout::IN_LISTS),
    (None, limits::MUTANTS),
    (None, lapse::MUTANTS),
    (ROUTING, routing::MUTANTS),
    (ROUTING, lines::MUTANTS),
    (Some(Theme::FewJobs), parts::MUTANTS),
    (Some(Theme::Desk), undo::MUTANTS),
];

/// So that one that no run happens to plant does not go stale.
#[test]
fn every_mutant_has_its_text_in_the_scripts() {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let scripts = runtime.block_on(async { Real::start(&[], None).await.library().await.code });
    let mutants = LISTS.iter().flat_map(|(_, list)| *list).map(|&(fault, from, _)| (fault, from));
    let faults: Vec<_> = mutants.chain(differential::faults()).collect();
    let stale: Vec<_> = faults.iter().filter(|(_, from)| !scripts.contains(from)).map(|(fault, _)| fault).collect();
    assert!(stale.is_empty(), "{stale:?}");
    let names: BTreeSet<_> = faults.iter().map(|(fault, _)| *fault).collect();
    assert_eq!(names.len(), faults.len(), "two faults have one description");
    let unknown: Vec<_> = hints::faults().filter(|fault| !names.contains(fault)).collect();
    assert!(unknown.is_empty(), "hints for no fault: {unknown:?}");
}

/// This commit's share of them; `INTRAY_MUTANTS=all` plants all, another text those whose description has it.
#[test]
fn model_finds_every_mutant() {
    let of_list = |(theme, list): (_, &'static [Fault])| list.iter().map(move |fault| (theme, fault));
    let all = LISTS.into_iter().flat_map(of_list);
    let wanted = std::env::var("INTRAY_MUTANTS").ok();
    let share = if wanted.is_some() { Rotation::ALL } else { Rotation::of("model-mutants") };
    let is_wanted = |fault: &str| wanted.as_ref().is_none_or(|text| text == "all" || fault.contains(text));
    for (_, (theme, &(fault, from, to))) in (0..).zip(all).filter(|(nth, _)| share.takes(*nth)) {
        if !is_wanted(fault) {
            continue;
        }
        let plan = Plan { cases: run::MAX_CASES, theme, edits: vec![Edit { from, to }], ..Plan::fixed() };
        match run::first_failure(&plan, hints::case_of(fault)) {
            Ok(Some((_, difference))) if difference.contains("Error compiling") => panic!("{fault}: {difference}"),
            Ok(Some((case, difference))) => {
                println!("{}", hints::line(case, fault));
                println!("{}", difference.lines().next().unwrap_or_default());
            }
            Ok(None) => panic!("{fault}: {} sequences have not found it", run::MAX_CASES),
            Err(why) => panic!("{fault}: {why}"),
        }
    }
}
