//! Which part of something long this commit runs: tests/rotation.txt.

use std::process::Command;

/// One part of several. The part of all is all of it.
#[derive(Debug, Clone, Copy)]
pub struct Rotation {
    part: u64,
    parts: u64,
}

impl Rotation {
    pub const ALL: Self = Self { part: 0, parts: 1 };

    /// The part for this commit of what the file lists by that name.
    pub fn of(name: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/rotation.sh");
        let output = Command::new(script).arg(name).output().expect("the script runs");
        let line = String::from_utf8_lossy(&output.stdout);
        let numbers =
            line.trim().split_once(' ').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
        let (part, parts) = numbers.unwrap_or_else(|| panic!("{name}: {output:?}"));
        Self { part, parts }
    }

    /// Whether the nth thing is in this part.
    pub fn takes(self, nth: u64) -> bool {
        nth % self.parts == self.part
    }

    pub fn is_all(self) -> bool {
        self.parts == 1
    }
}
