//! The differences from an older program that are intended: tests/model/allowed.txt.

use std::{fs, mem, path::Path};

use redis::Value;

use super::reply::{self, Reply};

/// One line of the file.
#[derive(Debug, Clone)]
struct Allowance {
    script: &'static str,
    /// The first argument, the first word of the reply, or `argument-N`: it is given; `None`: every call.
    word: Option<&'static str>,
    change: Change,
    mark: Mark,
    story: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// The older script is called without the argument of this number.
    NewArgument(usize),
    /// A word of the reply, and what the older one says.
    Renamed(&'static str, &'static str),
    /// Only the first word of the reply is compared.
    OneWord,
    /// The reply is not compared.
    Otherwise,
    /// The older one's reply has this word between others.
    Without(&'static str),
    /// The older one's reply lacks this one.
    With(&'static str),
    Fast,
    /// A text of the older scripts, and how it is read.
    Edited(&'static str, &'static str),
    /// The second server gets a key, or all, as it is on the first.
    Copied(Option<&'static str>),
}

/// How to tell the older programs for which a line is.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Lacks(&'static str),
    Has(&'static str),
}

impl Mark {
    fn is_of(self, code: &str) -> bool {
        match self {
            Self::Lacks(text) => !code.contains(text),
            Self::Has(text) => code.contains(text),
        }
    }
}

impl Allowance {
    fn parse(line: &'static str) -> Option<Self> {
        let mut parts = line.split(" | ");
        let (what, mark, why, story) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (call, change) = what.split_once(": ")?;
        let (script, word) = call.split_once(' ').map_or((call, None), |(script, word)| (script, Some(word)));
        let change = match *change.split(' ').collect::<Vec<_>>() {
            ["reads", ..] => change["reads ".len()..].split_once(" => ").map(|(from, to)| Change::Edited(from, to))?,
            ["argument", n, "is", "new"] => Change::NewArgument(n.parse().ok()?),
            ["answers", ours, "as", theirs] => Change::Renamed(ours, theirs),
            ["answers", "one", "word"] => Change::OneWord,
            ["answers", "otherwise"] => Change::Otherwise,
            ["answers", "no", word] => Change::Without(word),
            ["answers", word, "too"] => Change::With(word),
            ["answers", "fast"] => Change::Fast,
            ["all", "is", "copied"] => Change::Copied(None),
            [key, "is", "copied"] => Change::Copied(Some(key)),
            _ => return None,
        };
        let mark = match mark.split_at_checked(2)? {
            ("+ ", text) => Mark::Lacks(text),
            ("- ", text) => Mark::Has(text),
            _ => return None,
        };
        (parts.next().is_none() && !why.is_empty()).then_some(Self { script, word, change, mark, story })
    }

    fn is_for(&self, script: &str, words: &[String]) -> bool {
        ["any", script].contains(&self.script) && self.word.is_none_or(|word| words.iter().any(|one| one == word))
    }
}

/// All lines that are for one older program.
#[derive(Debug, Clone, Default)]
pub struct Allowances(Vec<Allowance>);

impl Allowances {
    pub fn of(code: &str) -> Self {
        Self(all().into_iter().filter(|allowance| allowance.mark.is_of(code)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn changes<'a>(&'a self, script: &'a str, words: &'a [String]) -> impl Iterator<Item = Change> + 'a {
        self.0.iter().filter(move |one| one.is_for(script, words)).map(|one| one.change)
    }

    /// The scripts of the older program as they are run.
    pub fn edit(&self, code: String) -> String {
        self.0.iter().fold(code, |code, one| match one.change {
            Change::Edited(from, to) => code.replace(from, to),
            _ => code,
        })
    }

    pub fn fast_paths(&self) -> bool {
        self.0.iter().any(|one| one.change == Change::Fast)
    }

    /// The arguments as the older script takes them.
    pub fn take_arguments(&self, script: &str, args: &mut Vec<Vec<u8>>) {
        let is_new = |n: usize| self.changes(script, &[]).any(|change| change == Change::NewArgument(n));
        let mut n = 0;
        args.retain(|_| {
            n += 1;
            !is_new(n)
        });
    }

    /// The replies of a script, made alike where they may differ.
    pub fn adapt(&self, script: &str, words: &[String], ours: &mut Reply, theirs: &mut Reply) {
        let word = first_word(&ours.items);
        for change in self.changes(script, &[words, std::slice::from_ref(&word)].concat()) {
            match change {
                Change::Renamed(from, to) if word == from => {
                    for reply in [&mut *ours, &mut *theirs] {
                        reply.items = mem::take(list(&mut reply.items));
                    }
                    ours.items[0] = Value::BulkString(to.into());
                    // That nothing was counted makes a queue too.
                    ours.counts.retain(|(_, n)| n != "0");
                }
                Change::OneWord | Change::Otherwise => {
                    for reply in [&mut *ours, &mut *theirs] {
                        list(&mut reply.items).truncate(usize::from(change == Change::OneWord));
                    }
                }
                Change::Without(word) => {
                    list(&mut theirs.items).retain(|item| *item != Value::BulkString(word.into()));
                }
                Change::With(word) => {
                    let items = list(&mut ours.items);
                    if let Some(at) = items.iter().position(|item| reply::text(Some(item)) == word) {
                        items.remove(at);
                    }
                }
                _ => {}
            }
        }
    }

    /// The keys that the second server gets from the first after a call; `Some(None)`: all.
    pub fn copied(&self, script: &str, words: &[String], reply: &[Value]) -> Vec<Option<&'static str>> {
        let words = [words, &[first_word(reply)]].concat();
        let copied = |change| match change {
            Change::Copied(key) => Some(key),
            _ => None,
        };
        self.changes(script, &words).filter_map(copied).collect()
    }
}

/// The items of a reply that is one list.
fn list(items: &mut Vec<Value>) -> &mut Vec<Value> {
    if let [Value::Array(_)] = items.as_slice() {
        let Some(Value::Array(inner)) = items.first_mut() else { unreachable!("it is a list") };
        return inner;
    }
    items
}

fn first_word(items: &[Value]) -> String {
    match items {
        [Value::Array(inner)] => reply::text(inner.first()),
        items => reply::text(items.first()),
    }
}

/// The lines of the file.
fn all() -> Vec<Allowance> {
    let text = include_str!("../allowed.txt");
    let (_, lines) = text.split_once("\n\n").expect("a list after the text");
    lines.lines().map(|line| Allowance::parse(line).unwrap_or_else(|| panic!("not understood: {line}"))).collect()
}

#[test]
fn allowances_are_few_and_have_stories() {
    assert!(include_str!("../allowed.txt").lines().count() <= 20);
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service");
    for Allowance { story, .. } in all() {
        let (file, name) = story.rsplit_once("::").expect("a path");
        let text = fs::read_to_string(stories.join(file.replace("::", "/")).with_extension("rs"));
        assert!(text.is_ok_and(|text| text.contains(&format!("async fn {name}()"))), "{story} is no story");
    }
}
