//! The fast path of a script must do exactly what its full path does: the same random operations run by both, on two servers with
//! one clock.

use intray::job::Total;

use crate::{
    hints,
    patch_scripts::Edit,
    rotation::Rotation,
    run::{self, Plan},
};

/// A share of the sequences: each command waits for two servers.
const SHARE: u64 = 4;

fn plan(edits: Vec<Edit>) -> Plan {
    let plan = Plan::from_environment();
    Plan { cases: plan.cases / SHARE, is_mirrored: true, edits, ..plan }
}

#[test]
fn fast_path_equals_full_path() {
    if cfg!(feature = "whole-path") {
        return; // there is no fast path to compare
    }
    let met = run::run(&plan(Vec::new())).unwrap_or_else(|difference| panic!("{difference}"));
    for total in [Total::Enqueued, Total::HandedOut, Total::Completed] {
        let replies = met.get(&run::fast_path(total.word())).copied().unwrap_or_default();
        println!("{replies} replies of the fast path that counts {}", total.word());
        assert!(replies > 0, "no reply came from the fast path that counts {}", total.word());
    }
}

/// Faults of the fast paths alone, in their lists of clients and of batches.
const FAULTS: [Edit; 9] = [
    Edit { from: "max(tonumber(v[k] or 0), lasts[k])", to: "lasts[k]" },
    Edit { from: "used = used + counts[k] * by\n", to: "" },
    Edit { from: "or own.fallback or own.overlap then return false end", to: "or own.overlap then return false end" },
    Edit { from: "if used > capacity then return false end", to: "" },
    Edit { from: "unparked[k] = min(counts[k], capacity - used)", to: "unparked[k] = 0" },
    Edit { from: "held + reserved - completed", to: "held - completed" },
    Edit { from: "write(off_parked, q.parked, found + 2)", to: "" },
    Edit { from: "if is_over then", to: "if false then" },
    Edit { from: "b.counts[record.BLOCKED] = b.counts[record.BLOCKED] + n\n", to: "" },
];

fn name_of(fault: &Edit) -> String {
    fault.from.escape_default().to_string()
}

/// Of the faults, for hints.
pub fn names() -> impl Iterator<Item = String> {
    FAULTS.iter().map(name_of)
}

#[test]
fn faults_of_a_fast_path_are_found() {
    if cfg!(feature = "whole-path") {
        return;
    }
    let is_found = |fault: Edit| {
        let name = name_of(&fault);
        let found = run::first_failure(&Plan { cases: run::MAX_CASES, ..plan(vec![fault]) }, hints::case_of(&name));
        let (case, difference) = found.expect("a mirror").unwrap_or_else(|| panic!("not found: {name}"));
        println!("{}\n{difference}", hints::line(case, &name));
    };
    let share = Rotation::of("fast-path-faults");
    (0..).zip(FAULTS).filter(|(nth, _)| share.takes(*nth)).for_each(|(_, fault)| is_found(fault));
}
