//! Gates by their marks: which ones have held a caller up, and which ones got room.

use std::collections::BTreeSet;

use crate::record_fields::event_fields::GATE_MARK_LEN;

/// What `lua/base/hint.lua` calls a gate. Two gates may share a mark, which wakes a caller in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GateMark(u32);

/// Gates that got room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenedGates {
    /// Too many to name them.
    pub any: bool,
    pub marks: BTreeSet<GateMark>,
}

impl GateMark {
    const LEN: usize = GATE_MARK_LEN;

    /// `None` for another text.
    pub fn parse(text: &str) -> Option<Self> {
        let is_mark = text.len() == Self::LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_mark.then(|| u32::from_str_radix(text, 16).ok().map(Self)).flatten()
    }

    /// The marks of a text that holds one after the other.
    pub(crate) fn parse_all(text: &[u8]) -> Option<Vec<Self>> {
        text.chunks(Self::LEN).map(|mark| Self::parse(std::str::from_utf8(mark).ok()?)).collect()
    }
}

impl OpenedGates {
    pub fn is_empty(&self) -> bool {
        !self.any && self.marks.is_empty()
    }

    /// Whether any of these has held a caller up.
    pub fn has_any_of(&self, gates: &BTreeSet<GateMark>) -> bool {
        !gates.is_empty() && (self.any || !self.marks.is_disjoint(gates))
    }

    pub fn join(&mut self, other: &Self) {
        self.any |= other.any;
        self.marks.extend(&other.marks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_eight_hex_digits_each() {
        let marks = |text: &str| GateMark::parse_all(text.as_bytes());
        assert_eq!(marks(""), Some(Vec::new()));
        assert_eq!(marks("0000000aFFffffff"), Some(vec![GateMark(10), GateMark(u32::MAX)]));
        for broken in ["0000000", "0000000a1", "0000000g", "+000000a", "0000000a0000000 "] {
            assert_eq!(marks(broken), None, "{broken:?}");
        }
    }
}
