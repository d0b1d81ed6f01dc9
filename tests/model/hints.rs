//! The sequence that last found each planted fault, which is tried first. A stale hint costs time only. To renew them all:
//!
//! ```sh
//! INTRAY_ROTATION=all cargo test --test model -- mutants:: that_differ --nocapture | sed -n 's/^found //p' | sort -k3 > /tmp/hints
//! mv /tmp/hints tests/model/hints.txt
//! ```

use std::{collections::BTreeMap, sync::LazyLock};

/// By what the fault is called.
static HINTS: LazyLock<BTreeMap<&str, u64>> = LazyLock::new(|| {
    let lines = include_str!("hints.txt").lines();
    let parts = lines.filter_map(|line| line.strip_prefix("by ")?.split_once(": "));
    parts.map(|(case, fault)| (fault, case.parse().expect("a number"))).collect()
});

pub fn case_of(fault: &str) -> Option<u64> {
    HINTS.get(fault).copied()
}

pub fn faults() -> impl Iterator<Item = &'static str> {
    HINTS.keys().copied()
}

/// The line of a fault that was found.
pub fn line(case: u64, fault: &str) -> String {
    format!("found by {case}: {fault}")
}
