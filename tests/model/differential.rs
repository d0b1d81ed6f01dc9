//! The fast path of a script must do exactly what its full path does: the same random operations run by both, on two servers with
//! one clock.

use intray::job::Total;

use crate::{
    patch_scripts::Edit,
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

#[test]
fn different_order_of_a_fast_path_is_found() {
    let edit = Edit { from: "max(tonumber(top[k] or 0), lasts[k])", to: "lasts[k]" };
    let found = run::first_failure(&Plan { cases: 100, ..plan(vec![edit]) });
    if cfg!(feature = "whole-path") {
        return;
    }
    let (_, difference) = found.expect("a mirror").expect("a difference that the model or the mirror finds");
    println!("{difference}");
}
