//! The scripts of this program must do exactly what those of an older one did: the same random operations run by both, on two servers
//! with one clock.

use std::{env, path::PathBuf, sync::Arc};

use tokio::runtime::Runtime;

use crate::{
    chance::Theme,
    hints,
    library::Library,
    patch_scripts::Edit,
    rotation::Rotation,
    run::{self, Plan},
};

fn library(program: PathBuf) -> Library {
    Runtime::new().expect("a runtime").block_on(Library::of_program(&program))
}

/// This one.
fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_intray"))
}

/// A debug build of an older commit reads the scripts of the folder where it was built, perhaps these.
fn older_library(older: PathBuf) -> Library {
    let (ours, theirs) = (library(program()), library(older.clone()));
    assert_ne!(ours.code, theirs.code, "{} has the very scripts of this program", older.display());
    theirs
}

/// A third of the sequences is about lists. With INTRAY_OLDER_PROGRAM the second server runs the scripts of that program; else those of
/// this one, which must then agree with themselves. What may differ stands in tests/model/allowed.txt.
#[test]
fn scripts_answer_and_store_what_those_of_an_older_program_did() {
    let older = env::var_os("INTRAY_OLDER_PROGRAM").map(PathBuf::from);
    let plan = Plan::from_environment();
    let cases = if older.is_some() { plan.cases } else { plan.cases / 20 };
    let other = older.map_or_else(|| library(program()), |older| older_library(older).with_allowances());
    let plan = Plan { other: Some(Arc::new(other)), ..plan };
    let run = |cases, theme| {
        let plan = Plan { cases, theme, share: Rotation::ALL, ..plan.clone() };
        let met = run::run(&plan).unwrap_or_else(|difference| panic!("{difference}"));
        met[run::COMPARED]
    };
    let calls = run(cases - cases / 3, None) + run(cases / 3, Some(Theme::Lists));
    println!("{calls} calls of {cases} sequences were answered alike, and left the same keys");
}

/// Faults of the first server: one that only a reply shows, and one that only a key does.
const FAULTS: [(&str, Edit, &str); 2] = [
    (
        "a reply says what is not stored",
        Edit { from: "d.warn_ms, of(waiting), of(blocked)", to: "d.warn_ms, of(waiting), of(blocked + 1)" },
        "the reply",
    ),
    ("a key keeps what no reply shows", Edit { from: "write.delete(q, 'drafts', id)", to: "" }, "the key"),
];

/// Each with its text in the scripts.
pub fn faults() -> impl Iterator<Item = (&'static str, &'static str)> {
    FAULTS.iter().map(|(fault, edit, _)| (*fault, edit.from))
}

#[test]
fn scripts_that_differ_are_found() {
    let other = Arc::new(library(program()));
    for (fault, edit, where_found) in FAULTS {
        let other = Some(other.clone());
        let plan = Plan { cases: run::MAX_CASES, other, edits: vec![edit], ..Plan::fixed() };
        let found = run::first_failure(&plan, hints::case_of(fault)).expect("a mirror");
        let (case, difference) = found.unwrap_or_else(|| panic!("not found: {fault}"));
        println!("{}", hints::line(case, fault));
        assert!(difference.starts_with(where_found), "{fault}: {difference}");
    }
}

/// The texts by which an older program is known stand in no script of this one, or all of them do.
#[test]
fn scripts_of_this_program_may_not_differ() {
    let own = library(program()).with_allowances();
    assert!(own.allowed.is_empty(), "these are known as an older program: {:?}", own.allowed);
}
