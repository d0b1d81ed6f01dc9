//! The fast path of a script must do exactly what its full path does, and the scripts of this program what those of an older one did:
//! the same random operations run by both, on two servers with one clock.

use std::{env, path::PathBuf, sync::Arc};

use intray::job::Total;
use tokio::runtime::Runtime;

use crate::{
    chance::Theme,
    hints,
    library::Library,
    mirror::Other,
    patch_scripts::Edit,
    rotation::Rotation,
    run::{self, Plan},
};

/// A share of the sequences: each command waits for two servers.
const SHARE: u64 = 4;

fn plan(edits: Vec<Edit>) -> Plan {
    let plan = Plan::from_environment();
    Plan { cases: plan.cases / SHARE, other: Some(Other::FullPath), edits, ..plan }
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

/// A third of the sequences is about lists. With INTRAY_OLDER_PROGRAM the second server runs the scripts of that program; else those of
/// this one, which must then agree with themselves.
#[test]
fn scripts_answer_and_store_what_those_of_an_older_program_did() {
    let program = env::var_os("INTRAY_OLDER_PROGRAM");
    let plan = Plan::from_environment();
    let cases = if program.is_some() { plan.cases } else { plan.cases / 20 };
    let program = program.map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_intray")), PathBuf::from);
    let library = Runtime::new().expect("a runtime").block_on(Library::of_program(&program));
    let plan = Plan { other: Some(Other::Library(Arc::new(library))), ..plan };
    let run = |cases, theme| {
        let plan = Plan { cases, theme, share: Rotation::ALL, ..plan.clone() };
        let met = run::run(&plan).unwrap_or_else(|difference| panic!("{difference}"));
        met[run::COMPARED]
    };
    let calls = run(cases - cases / 3, None) + run(cases / 3, Some(Theme::Lists));
    println!("{calls} calls of {cases} sequences were answered alike, and left the same keys");
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

/// The names of the faults, for hints.
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
