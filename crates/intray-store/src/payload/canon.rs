//! A form of JSON texts for comparing them.

use std::{borrow::Cow, ops::Range};

use serde_json::value::RawValue;

use super::{depth, number, scan::Scan};
use crate::job::limits;

/// Levels of nesting around a payload: a list of jobs, a job, and one spare.
const ENVELOPE_DEPTH: usize = 3;

/// How [`Canon`] writes strings, numbers, and members that an object has twice.
const AS_WRITTEN: u8 = 0;
const BY_MEANING: u8 = 1;
const BY_VALUE: u8 = 2;

/// No white space outside strings, and object keys sorted. The text is valid JSON.
pub(super) fn as_written(json: &str) -> Vec<u8> {
    Canon::<AS_WRITTEN>::of(json)
}

/// Returns a form for comparing JSON texts: no white space outside strings, object keys sorted, each string in one spelling,
/// numbers as written. Returns text unchanged if it is not JSON or is nested deeper than a request may be.
pub fn meaning(text: &[u8]) -> Cow<'_, [u8]> {
    let json = std::str::from_utf8(text).ok().filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    match json {
        Some(json) if depth(text) <= limits::DEPTH + ENVELOPE_DEPTH => Canon::<BY_MEANING>::of(json).into(),
        _ => text.into(),
    }
}

/// Returns a form that is the same for equal values: that of [`meaning`], in which numbers are exact decimals in one spelling (`1`, `1.0` and
/// `10e-1` are one) and the last member of a name counts. The text is valid JSON, nested at most [`limits::DEPTH`] deep.
pub(super) fn by_value(json: &str) -> Vec<u8> {
    Canon::<BY_VALUE>::of(json)
}

/// Writes text in its order, and sorts the members of all objects at the end in one copy, so that nesting costs nothing.
struct Canon<'t, const FORM: u8> {
    text: Scan<'t>,
    out: Vec<u8>,
    /// The objects whose keys are out of order.
    unsorted: Vec<Unsorted>,
    /// Their members, sorted by key.
    members: Vec<Range<usize>>,
}

/// An object in the order of its text: the places of its brackets, and which of the members are its own.
struct Unsorted {
    open: usize,
    close: usize,
    members: Range<usize>,
}

impl<'t, const FORM: u8> Canon<'t, FORM> {
    fn of(text: &'t str) -> Vec<u8> {
        let out = Vec::with_capacity(text.len());
        let mut canon = Self { text: Scan::of(text), out, unsorted: Vec::new(), members: Vec::new() };
        canon.value();
        if canon.unsorted.is_empty() {
            return canon.out;
        }
        canon.unsorted.sort_unstable_by_key(|object| object.open);
        let mut sorted = Vec::with_capacity(canon.out.len());
        canon.copy(0..canon.out.len(), &mut sorted);
        sorted
    }

    fn value(&mut self) {
        match self.text.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => {
                let string = spelled::<FORM>(self.text.string());
                self.out.extend_from_slice(&string);
            }
            Some(b'-' | b'0'..=b'9') if FORM == BY_VALUE => number::write(self.text.word(), &mut self.out),
            _ => self.out.extend_from_slice(self.text.word().as_bytes()),
        }
    }

    fn object(&mut self) {
        let open = self.out.len();
        self.out.push(b'{');
        let mut members: Vec<(Cow<'t, [u8]>, Range<usize>)> = Vec::new();
        while self.text.next_item(b'}') {
            let key = spelled::<FORM>(self.text.key());
            let from = self.out.len();
            self.out.extend_from_slice(&key);
            self.out.push(b':');
            self.value();
            members.push((key, from..self.out.len()));
            self.out.push(b',');
        }
        self.close(b'}', members.is_empty());
        let keeps_last = FORM == BY_VALUE;
        if !members.is_sorted_by(|(one, _), (other, _)| one < other || !keeps_last && one == other) {
            // The sort is stable: duplicate keys keep their order, so that texts which differ in it stay distinct.
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            if keeps_last {
                members.reverse();
                members.dedup_by(|(one, _), (other, _)| one == other);
                members.reverse();
            }
            let first = self.members.len();
            self.members.extend(members.into_iter().map(|(_, member)| member));
            let (close, members) = (self.out.len() - 1, first..self.members.len());
            self.unsorted.push(Unsorted { open, close, members });
        }
    }

    fn array(&mut self) {
        self.out.push(b'[');
        let start = self.out.len();
        while self.text.next_item(b']') {
            self.value();
            self.out.push(b',');
        }
        self.close(b']', self.out.len() == start);
    }

    /// Writes the closing bracket, in place of the trailing comma if there are items.
    fn close(&mut self, bracket: u8, is_empty: bool) {
        if !is_empty {
            self.out.pop();
        }
        self.out.push(bracket);
    }

    /// Copies a part of the output, in which each object that is out of order is sorted.
    fn copy(&self, part: Range<usize>, into: &mut Vec<u8>) {
        let mut at = part.start;
        loop {
            // The outermost object opens first.
            let next = self.unsorted.partition_point(|object| object.open < at);
            let Some(object) = self.unsorted.get(next).filter(|object| object.open < part.end) else { break };
            into.extend_from_slice(&self.out[at..=object.open]);
            for (n, member) in self.members[object.members.clone()].iter().enumerate() {
                if n > 0 {
                    into.push(b',');
                }
                self.copy(member.clone(), into);
            }
            at = object.close;
        }
        into.extend_from_slice(&self.out[at..part.end]);
    }
}

/// A string as it is written into the output.
fn spelled<const FORM: u8>(written: &str) -> Cow<'_, [u8]> {
    if FORM != AS_WRITTEN && written.contains('\\') {
        // A lone surrogate has no other spelling, so it stays as written.
        let text = serde_json::from_str::<String>(written).and_then(|text| serde_json::to_vec(&text));
        return text.map_or(written.as_bytes().into(), Cow::Owned);
    }
    written.as_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        String::from_utf8(as_written(text)).expect("UTF-8")
    }

    #[test]
    fn meaning_ignores_spelling_and_keeps_values() {
        let same =
            [r#"{"b":"\u00fc\/\"","a":1}"#, "{ \"a\": 1, \"b\": \"ü/\\u0022\" }", r#"{"\u0061":1,"b":"\u00FC/\""}"#];
        assert!(same.iter().all(|text| meaning(text.as_bytes()) == meaning(same[0].as_bytes())), "{same:?}");
        for other in [r#"{"a":1.0,"b":"ü/\""}"#, r#"{"a":1,"b":"ü/"}"#, r#"{"a":"1","b":"ü/\""}"#, r#"["\ud83d"]"#] {
            assert_ne!(meaning(other.as_bytes()), meaning(same[0].as_bytes()), "{other}");
        }
        assert_ne!(meaning(br#"["\ud83d"]"#), meaning(br#"["\ud83e"]"#));
    }

    #[test]
    fn value_is_one_for_equal_values() {
        let same = [
            r#"{"b":[1,{"c":-20}],"a":"\u00fc"}"#,
            r#"{ "a":"ü", "b":[1.0,{"c":-2.00E+1}] }"#,
            r#"{"a":0,"b":{},"b":[10e-1,{"c":7,"c":-20}],"a":"ü"}"#,
        ];
        for text in same {
            assert_eq!(by_value(text), by_value(same[0]), "{text}");
        }
        for other in [r#"{"a":"ü","b":["1",{"c":-20}]}"#, r#"{"a":"ü","b":[true,{"c":-20}]}"#, r#"{"a":"ü"}"#] {
            assert_ne!(by_value(other), by_value(same[0]), "{other}");
        }
        assert_eq!(by_value(r#"{"a":1,"a":2,"b":[],"b":0}"#), by_value(r#"{"b":0,"a":2}"#));
        assert_ne!(by_value("9007199254740993"), by_value("9007199254740992"));
    }

    #[test]
    fn meaning_of_no_json_is_its_bytes() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        for text in [&b"{"[..], b"", b"{} {}", b"\xff", deep.as_bytes()] {
            assert_eq!(meaning(text), text);
        }
    }

    #[test]
    fn canonical_ignores_white_space_and_key_order() {
        assert_eq!(
            canonical(r#" { "b" : [ 1 , { } , [ ] ] , "a" : "x \" , } y" } "#),
            r#"{"a":"x \" , } y","b":[1,{},[]]}"#
        );
        assert_eq!(canonical(r#"{"b":2,"a":1}"#), canonical("{ \"a\" : 1,\n\"b\" : 2 }"));
        assert_eq!(canonical(r#"[{"c":{"z":[],"y":{}},"b":1,"a":[2]}]"#), r#"[{"a":[2],"b":1,"c":{"y":{},"z":[]}}]"#);
    }

    #[test]
    fn canonical_sorts_at_each_level() {
        let inner = |text: &str| format!(r#"{{"c":1,"b":{text},"a":[{{"z":2,"y":{text}}},{{}}]}}"#);
        let sorted = |text: &str| format!(r#"{{"a":[{{"y":{text},"z":2}},{{}}],"b":{text},"c":1}}"#);
        assert_eq!(canonical(&inner(&inner(&inner("[]")))), sorted(&sorted(&sorted("[]"))));
        assert_eq!(canonical(&inner(r#"{"a":1,"b":2}"#)), sorted(r#"{"a":1,"b":2}"#));
    }

    #[test]
    fn nested_objects_out_of_order_cost_little_more_than_flat_ones() {
        let objects = |depth: usize, inner: &str| {
            let object = r#"{"b":1,"a":"#.repeat(depth) + inner + &"}".repeat(depth);
            let least = (0..5).map(|_| {
                let begin = std::time::Instant::now();
                assert_eq!(as_written(&object).len(), object.len());
                begin.elapsed()
            });
            least.min().expect("five")
        };
        let inner = format!("\"{}\"", "x".repeat(1 << 20));
        let (flat, nested) = (objects(1, &inner), objects(limits::DEPTH - 1, &inner));
        assert!(nested < flat * 5, "{nested:?} against {flat:?}");
    }

    #[test]
    fn canonical_keeps_numbers_and_strings() {
        for text in [
            "9007199254740993",
            "1e400",
            "1.0",
            r#""\u0061""#,
            "null",
            "[1,1.0,true]",
            r#"{"a":1,"a":2}"#,
            r#"["\\","\\\"",""]"#,
        ] {
            assert_eq!(canonical(text), text);
        }
        assert_ne!(canonical(r#"{"a":1,"a":2}"#), canonical(r#"{"a":2,"a":1}"#));
    }
}
