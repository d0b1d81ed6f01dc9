//! Which of several JSON texts have the same value, as a whole or in a part of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    Json, canon,
    pointers::{Pointers, escaped},
    scan::Scan,
    unicode_text,
};
use crate::job::limits;

/// Limit of the members that are named for a difference.
const NAMED_MEMBERS: usize = 50;
/// Limit of the members of an object that are compared one by one.
const COMPARED_MEMBERS: usize = 1_000;

/// The part of each text that has a vote: a JSON pointer (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct VotedPart(Vec<String>);

/// A value, and how many texts have it.
#[derive(Debug, Serialize)]
pub struct VotedValue {
    pub value: Json,
    pub votes: usize,
}

/// Several texts, compared.
#[derive(Debug, Default)]
pub struct Votes {
    /// The one with the most votes first; of equal ones that which came first.
    pub values: Vec<VotedValue>,
    /// The value of each text, by its place in `values`; `None`: it has none there.
    pub of: Vec<Option<usize>>,
    /// Where the values differ: pointers into the texts to the members of that name. It is empty if they are equal, one of them is no object,
    /// or one has more than a thousand members.
    pub differs: Vec<String>,
}

impl VotedPart {
    /// The whole text has the vote, or the part at these unescaped steps.
    pub fn new(steps: Vec<String>) -> Self {
        Self(steps)
    }

    fn of<'t>(&self, json: &'t Json) -> Option<&'t str> {
        let mut pointers = Pointers::default();
        pointers.add(self.0.iter().cloned());
        // A result that is null is none.
        pointers.find(json.as_str()).pop().flatten().filter(|found| !self.0.is_empty() || *found != "null")
    }

    /// The pointer.
    fn text(&self) -> String {
        self.0.iter().map(|step| format!("/{}", escaped(step))).collect()
    }
}

impl Votes {
    /// Compares what the texts have in that part; a text that is `None` has no vote.
    pub fn count(texts: &[Option<Json>], part: &VotedPart) -> Self {
        let mut values: Vec<(Vec<u8>, &str, usize)> = Vec::new();
        let mut of = Vec::new();
        for found in texts.iter().map(|text| part.of(text.as_ref()?)) {
            of.push(found.map(|text| place_of(canon::by_value(text), text, &mut values)));
        }
        let mut order: Vec<_> = (0..values.len()).collect();
        order.sort_by_key(|place| std::cmp::Reverse(values[*place].2));
        let moved = |place| order.iter().position(|own| *own == place);
        let texts: Vec<_> = values.iter().map(|(_, text, _)| *text).collect();
        let value = |place: &usize| {
            let (_, text, votes) = values[*place];
            Json::from_text(text.to_owned()).map(|value| VotedValue { value, votes })
        };
        Self {
            of: of.into_iter().map(|place| place.and_then(moved)).collect(),
            values: order.iter().filter_map(value).collect(),
            differs: differing(&texts, &part.text()),
        }
    }

    /// How many texts have a vote.
    pub fn cast(&self) -> usize {
        self.of.iter().flatten().count()
    }
}

/// The place of a value among those seen, which has one vote more.
fn place_of<'t>(canon: Vec<u8>, text: &'t str, values: &mut Vec<(Vec<u8>, &'t str, usize)>) -> usize {
    let place = values.iter().position(|(own, ..)| *own == canon).unwrap_or(values.len());
    if place == values.len() {
        values.push((canon, text, 0));
    }
    values[place].2 += 1;
    place
}

/// The names whose members differ among these objects, in the order in which they come, as pointers.
fn differing(texts: &[&str], part: &str) -> Vec<String> {
    let objects: Option<Vec<_>> = texts.iter().map(|text| members(text)).collect();
    // Each pointer may be the part of the next call.
    let is_last_step = part.matches('/').count() >= limits::COLUMN_STEPS;
    let Some(objects) = objects.filter(|_| texts.len() > 1 && !is_last_step) else { return Vec::new() };
    let mut names: Vec<&str> = Vec::new();
    let mut known = BTreeSet::new();
    for object in &objects {
        names.extend(object.names.iter().map(String::as_str).filter(|name| known.insert(*name)));
    }
    let is_equal = |name: &&str| {
        let first = objects[0].values.get(*name);
        objects.iter().all(|object| object.values.get(*name) == first)
    };
    let others = names.into_iter().filter(|name| !is_equal(name)).take(NAMED_MEMBERS);
    others.map(|name| format!("{part}/{}", escaped(name))).collect()
}

/// The names of an object's members in order, and their values by name.
struct VotedMembers {
    names: Vec<String>,
    values: BTreeMap<String, Vec<u8>>,
}

/// `None`: it is no object, or has too many members.
fn members(json: &str) -> Option<VotedMembers> {
    let (mut scan, mut names, mut values) = (Scan::of(json), Vec::new(), BTreeMap::new());
    if scan.peek() != Some(b'{') {
        return None;
    }
    while scan.next_item(b'}') {
        if names.len() == COMPARED_MEMBERS {
            return None;
        }
        let key = scan.key();
        let name = unicode_text(key).map_or_else(|| key.to_owned(), Into::into);
        scan.peek();
        let from = scan.place();
        scan.skip();
        if values.insert(name.clone(), canon::by_value(scan.since(from))).is_none() {
            names.push(name);
        }
    }
    Some(VotedMembers { names, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(texts: &[&str], at: &[&str]) -> Votes {
        let json = |text: &&str| Json::from_text((*text).to_owned());
        let texts: Vec<_> = texts.iter().map(json).collect();
        Votes::count(&texts, &VotedPart::new(at.iter().map(|step| (*step).to_owned()).collect()))
    }

    fn values(votes: &Votes) -> Vec<(&str, usize)> {
        votes.values.iter().map(|VotedValue { value, votes }| (value.as_str(), *votes)).collect()
    }

    #[test]
    fn equal_values_are_one_and_more_votes_come_first() {
        let votes = count(&[r#"{"v":2}"#, r#"{"v":1.0}"#, "", r#"{ "v" : 1 }"#, "null"], &[]);
        assert_eq!(values(&votes), [(r#"{"v":1.0}"#, 2), (r#"{"v":2}"#, 1)]);
        assert_eq!((votes.of.as_slice(), votes.cast()), (&[Some(1), Some(0), None, Some(0), None][..], 3));
        let tie = count(&["true", "1", "\"1\""], &[]);
        assert_eq!(values(&tie), [("true", 1), ("1", 1), ("\"1\"", 1)], "the first comes first");
    }

    #[test]
    fn part_of_a_text_has_the_vote() {
        let texts = [r#"{"v":{"a/b":null},"n":"x"}"#, r#"{"n":"y","v":{"a/b":null}}"#, r#"{"v":[]}"#, "7"];
        let votes = count(&texts, &["v", "a/b"]);
        assert_eq!((values(&votes), votes.cast()), (vec![("null", 2)], 2));
        assert!(votes.differs.is_empty());
        assert_eq!(count(&texts[..2], &["v"]).differs, [""; 0]);
    }

    #[test]
    fn differing_members_are_named() {
        let texts = [r#"{"v":1,"r~/":"a","n":0}"#, r#"{"n":0,"r~/":"b","v":1.0}"#, r#"{"v":1,"r~/":"a"}"#];
        assert_eq!(count(&texts, &[]).differs, ["/r~0~1", "/n"]);
        assert_eq!(count(&[texts[0], "[]"], &[]).differs, [""; 0], "an array has no members");
        assert_eq!(count(&[r#"{"o":{"x":1}}"#, r#"{"o":{"x":2}}"#], &["o"]).differs, ["/o/x"]);
        let deep = |n: usize, x: u8| format!("{}{{\"x\":{x}}}{}", "{\"o\":".repeat(n), "}".repeat(n));
        for (n, wanted) in [(limits::COLUMN_STEPS - 1, 1), (limits::COLUMN_STEPS, 0)] {
            assert_eq!(count(&[&deep(n, 1), &deep(n, 2)], &vec!["o"; n]).differs.len(), wanted, "a part has a limit");
        }
        let many = (0..80).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",");
        assert_eq!(count(&[&format!("{{{many}}}"), "{}"], &[]).differs.len(), NAMED_MEMBERS);
        let too_many = (0..=COMPARED_MEMBERS).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",");
        let votes = count(&[&format!("{{{too_many}}}"), "{}"], &[]);
        assert_eq!((votes.differs.len(), votes.values.len()), (0, 2));
    }
}
