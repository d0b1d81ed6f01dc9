//! Finds the values of JSON pointers (RFC 6901), all of them in one pass of the text.

use std::collections::BTreeMap;

use super::{scan::Scan, unicode_text};

/// Pointers as a tree of their steps.
pub struct Pointers {
    nodes: Vec<Node>,
    /// The node at the end of each pointer.
    ends: Vec<usize>,
}

#[derive(Default)]
struct Node {
    parent: usize,
    members: BTreeMap<String, usize>,
    elements: BTreeMap<usize, usize>,
}

const ROOT: usize = 0;

/// A value, and which visit of its parent found it: a later member of the same name takes the place of an earlier one with
/// all that is in it.
#[derive(Default, Clone, Copy)]
struct Found<'t> {
    text: &'t str,
    visit: usize,
    parents_visit: usize,
}

struct Search<'p, 't> {
    nodes: &'p [Node],
    text: Scan<'t>,
    found: Vec<Found<'t>>,
    visits: usize,
}

impl Default for Pointers {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], ends: Vec::new() }
    }
}

impl Pointers {
    /// Adds a pointer of unescaped steps.
    pub fn add(&mut self, steps: impl IntoIterator<Item = String>) {
        let end = steps.into_iter().fold(ROOT, |parent, step| self.child(parent, step));
        self.ends.push(end);
    }

    fn child(&mut self, parent: usize, step: String) -> usize {
        let new = self.nodes.len();
        // An index has no leading zeros.
        let place = step.parse().ok().filter(|place: &usize| place.to_string() == step);
        let child = *self.nodes[parent].members.entry(step).or_insert(new);
        if child == new {
            self.nodes.push(Node { parent, ..Node::default() });
            self.nodes[parent].elements.extend(place.map(|place| (place, new)));
        }
        child
    }

    /// How many of the pointers the same part of a text can be in: those that are equal or begin another.
    pub fn overlap(&self) -> usize {
        let mut pointers = vec![0; self.nodes.len()];
        self.ends.iter().for_each(|end| pointers[*end] += 1);
        // A parent comes before its children.
        for (node, Node { parent, .. }) in self.nodes.iter().enumerate().skip(1) {
            pointers[node] += pointers[*parent];
        }
        pointers.into_iter().max().unwrap_or_default()
    }

    /// The value of each pointer in valid JSON, as written.
    pub fn find<'t>(&self, json: &'t str) -> Vec<Option<&'t str>> {
        let found = vec![Found::default(); self.nodes.len()];
        let mut search = Search { nodes: &self.nodes, text: Scan::of(json), found, visits: 0 };
        search.value(ROOT, 0);
        self.ends.iter().map(|end| search.value_of(*end)).collect()
    }
}

impl<'t> Search<'_, 't> {
    fn value(&mut self, node: usize, parents_visit: usize) {
        self.visits += 1;
        let visit = self.visits;
        let (nodes, first) = (self.nodes, self.text.peek());
        let begin = self.text.place();
        match first {
            Some(b'{') if !nodes[node].members.is_empty() => self.object(&nodes[node].members, visit),
            Some(b'[') if !nodes[node].elements.is_empty() => self.array(&nodes[node].elements, visit),
            _ => self.text.skip(),
        }
        self.found[node] = Found { text: self.text.since(begin), visit, parents_visit };
    }

    fn object(&mut self, members: &BTreeMap<String, usize>, visit: usize) {
        while self.text.next_item(b'}') {
            let key = unicode_text(self.text.key());
            match key.and_then(|key| members.get(&*key)) {
                Some(node) => self.value(*node, visit),
                None => self.text.skip(),
            }
        }
    }

    fn array(&mut self, elements: &BTreeMap<usize, usize>, visit: usize) {
        let (mut elements, mut place) = (elements.iter().peekable(), 0);
        while self.text.next_item(b']') {
            match elements.next_if(|(wanted, _)| **wanted == place) {
                Some((_, node)) => self.value(*node, visit),
                None => self.text.skip(),
            }
            place += 1;
        }
    }

    /// The value at the end of a pointer, if each step was found in the last value of the step before it.
    fn value_of(&self, end: usize) -> Option<&'t str> {
        let mut node = end;
        while node != ROOT {
            let parent = self.nodes[node].parent;
            if self.found[node].visit == 0 || self.found[node].parents_visit != self.found[parent].visit {
                return None;
            }
            node = parent;
        }
        Some(self.found[end].text)
    }
}

/// The unescaped steps of a pointer without its first slash; `None`: a `~` in it escapes nothing.
pub fn steps(pointer: &str) -> Option<Vec<String>> {
    let is_escaped = |step: &str| step.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    let step = |step: &str| is_escaped(step).then(|| step.replace("~1", "/").replace("~0", "~"));
    pointer.split('/').map(step).collect()
}

/// A name as a step of a pointer.
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn pointers<'s>(names: impl IntoIterator<Item = &'s str>) -> Pointers {
        let mut pointers = Pointers::default();
        names.into_iter().for_each(|name| pointers.add(name.split('/').map(str::to_owned)));
        pointers
    }

    #[test]
    fn last_member_of_a_name_replaces_all_of_the_first() {
        let found = |json| pointers(["a", "a/x", "a/y", "a/x/z", "b/1/c"]).find(json);
        assert_eq!(
            found(r#" { "a" : {"x":{"z":1}} , "a" : {"y":2} , "b" : [{"c":0}, {"c":3,"c":4}, {"c":5}] } "#),
            [Some(r#"{"y":2}"#), None, Some("2"), None, Some("4")]
        );
        assert_eq!(found(r#"{"a":{"x":1},"a":[7],"b":{"1":{"c":"in an object"}}}"#)[..2], [Some("[7]"), None]);
        assert_eq!(found(r#"{"b":{"1":{"c":"in an object"}}}"#)[4], Some(r#""in an object""#));
        assert_eq!(found(r#"{"a":1,"a":{"x":{}},"a":{"x":{"z":[]}}}"#)[1..4], [Some(r#"{"z":[]}"#), None, Some("[]")]);
    }

    #[test]
    fn overlap_counts_equal_pointers_and_those_that_begin_another() {
        for (names, overlap) in [
            (&["a", "b", "b/c", "b/d"][..], 2),
            (&["a/b/c", "a/b", "a", "a/b/d"], 3),
            (&["a", "a", "a", "ab"], 3),
            (&["x/y", "z"], 1),
        ] {
            assert_eq!(pointers(names.iter().copied()).overlap(), overlap, "{names:?}");
        }
    }

    /// A pass for each of 64 pointers costs 64 times as much as one.
    const FAR_LESS: u32 = 16;

    /// The shortest of a few runs.
    fn time(names: &[String], json: &str) -> Duration {
        let pointers = pointers(names.iter().map(String::as_str));
        let run = |_| {
            let begin = Instant::now();
            assert!(pointers.find(json).iter().all(Option::is_some));
            begin.elapsed()
        };
        (0..5).map(run).min().expect("five")
    }

    #[test]
    fn many_deep_pointers_cost_little_more_than_one() {
        let depth = 127;
        let json = format!("{}[{}1]{}", r#"{"a":"#.repeat(depth), "1,".repeat(100_000), "}".repeat(depth));
        let deep = |steps: usize| ["a"].repeat(steps).join("/");
        let one = time(&[deep(1)], &json);
        let equal = time(&vec![deep(depth); 64], &json);
        let each: Vec<_> = (1..65).map(deep).collect();
        let nested = time(&each, &json);
        assert!(equal < one * FAR_LESS && nested < one * FAR_LESS, "{equal:?} and {nested:?} against {one:?}");
    }

    #[test]
    fn many_pointers_into_equal_members_cost_little_more_than_one() {
        let json = format!("{{{}\"a\":[]}}", r#""a":{"b":1},"#.repeat(20_000));
        let pointers: Vec<_> = (0..64).map(|n| format!("a/{n}")).chain(["a".to_owned()]).collect();
        let time = |some: &[String]| {
            let pointers = super::tests::pointers(some.iter().map(String::as_str));
            let run = |_| {
                let begin = Instant::now();
                assert_eq!(pointers.find(&json).last().copied().flatten(), Some("[]"));
                begin.elapsed()
            };
            (0..5).map(run).min().expect("five")
        };
        let (one, many) = (time(&pointers[64..]), time(&pointers));
        assert!(many < one * FAR_LESS, "{many:?} against {one:?}");
    }
}
