//! Words with one meaning: *behind* is no *after*, *most* is no *max*, and no sentence begins with *Of*.

use super::language::{CODE, all_files, identifiers, words};

/// Not read.
const EXEMPT: [&str; 1] = ["tests/documents/meanings.rs"];

/// Lines that quote one of these words: the file and the line's text.
const QUOTED: &[(&str, &str)] = &[
    ("CONTRIBUTING.md", "**After**, not *behind*"),
    ("CONTRIBUTING.md", "\"The job's name\", not \"Of a job its name\""),
    ("crates/intray-redis/src/cluster/slot_map.rs", "fn map_that_most_nodes_report_is_used()"),
    ("crates/intray-store/src/upkeep/health.rs", "warn(\"behind\", problem)"),
    ("openapi.yaml", "is more than about 4,000 events behind is closed"),
    ("src/service/clock.rs", "\"behind\""), // our clock lags
    ("tests/service/store/changed_later.rs", "s behind Redis's: receivers refuse webhooks"),
    ("tests/service/store/sentinel.rs", "contains(\"behind\")"),
    ("web/client/job_store.js", "`behind`"),
    ("web/client/job_store.js", "behind?: boolean"),
    ("web/client/records.js", "#behind = []"),
    ("web/client/types.js", "[behind]"),
];

/// Names that a page stores: a job that is held while another is on the desk.
const STORED: (&str, &str) = ("web/client/", "behind");

/// Right before *behind*: it lags, as in "is behind", "too far behind".
const LAGS: [&str; 5] = ["is", "are", "far", "falls", "fell"];
/// At most so many words before *behind*: "leaves no file behind".
const LEAVES: ([&str; 4], usize) = (["leave", "leaves", "leaving", "left"], 4);
/// At most so many words after *behind*: "behind a proxy", "behind its own sentinels".
const IN_FRONT: ([&str; 5], usize) = (["proxy", "proxies", "sentinel", "sentinels", "balancer"], 3);

/// Right after *the most*: a superlative.
const SUPERLATIVES: [&str; 4] = ["urgent", "frequent", "recent", "common"];
/// Right before *the most*: more than others have, as in "the node with the most slots".
const HAVING: [&str; 3] = ["with", "has", "have"];

/// The words of a line with those of its neighbours, as sentences are longer than lines.
struct Context {
    words: Vec<String>,
    from: usize,
    to: usize,
}

impl Context {
    fn of(lines: &[&str], at: usize) -> Self {
        let before = at.checked_sub(1).map_or(Vec::new(), |before| words_of(lines[before]));
        let (own, after) = (words_of(lines[at]), lines.get(at + 1).map_or(Vec::new(), |line| words_of(line)));
        let (from, to) = (before.len(), before.len() + own.len());
        Self { words: [before, own, after].concat(), from, to }
    }

    /// The places of a word in the line itself.
    fn places(&self, word: &str) -> impl Iterator<Item = usize> {
        (self.from..self.to).filter(move |&at| self.words[at] == word)
    }

    fn has(&self, place: Option<usize>, list: &[&str]) -> bool {
        place.and_then(|at| self.words.get(at)).is_some_and(|word| list.contains(&word.as_str()))
    }

    fn is_after(&self) -> bool {
        let is_allowed = |at: usize| {
            self.has(at.checked_sub(1), &LAGS)
                || (1..=LEAVES.1).any(|far| self.has(at.checked_sub(far), &LEAVES.0))
                || (1..=IN_FRONT.1).any(|far| self.has(Some(at + far), &IN_FRONT.0))
        };
        self.places("behind").any(|at| !is_allowed(at))
    }

    /// "The most jobs of a call", where it is no superlative.
    fn is_max(&self) -> bool {
        let mut most = self.places("most").filter(|&at| self.has(at.checked_sub(1), &["the"]));
        most.any(|at| !self.has(Some(at + 1), &SUPERLATIVES) && !self.has(at.checked_sub(2), &HAVING))
    }
}

fn words_of(line: &str) -> Vec<String> {
    words(line).into_iter().filter(|word| !word.is_empty()).collect()
}

/// `most` in a name, unless it is an *at most*.
fn is_max_in_a_name(path: &str, line: &str) -> bool {
    // Lines of a docstring look like code.
    if path.ends_with(".py") && !["_most", "most_", "MOST", "most =", "most:"].iter().any(|name| line.contains(name)) {
        return false;
    }
    let words = words_of(&identifiers(path, line));
    (0..words.len()).any(|at| words[at] == "most" && (at == 0 || words[at - 1] != "at"))
}

fn is_stored(path: &str, line: &str) -> bool {
    path.starts_with(STORED.0) && words_of(&identifiers(path, line)).iter().any(|word| word == STORED.1)
}

/// A comment, message or paragraph with a sentence that begins with *Of*.
fn begins_with_of(line: &str) -> bool {
    let is_word = |at: usize| !line[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    line.match_indices("Of ").any(|(at, _)| is_word(at))
}

/// `file:line: rule: text` of each breach.
fn breaches(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| !EXEMPT.iter().any(|exempt| path.starts_with(exempt))) {
        let is_code = CODE.iter().any(|kind| path.ends_with(&format!(".{kind}")));
        let lines: Vec<_> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            if QUOTED.iter().any(|(file, quoted)| path == file && line.contains(quoted)) {
                continue;
            }
            let context = Context::of(&lines, at);
            let rules = [
                ("behind for after", context.is_after() && !is_stored(path, line)),
                ("most for max", context.is_max() || is_code && is_max_in_a_name(path, line)),
                ("begins with Of", begins_with_of(line)),
            ];
            let broken = rules.into_iter().filter(|(_, is_broken)| *is_broken);
            found.extend(broken.map(|(rule, _)| format!("{path}:{}: {rule}: {}", at + 1, line.trim())));
        }
    }
    found
}

#[test]
fn words_are_used_in_their_one_meaning() {
    let found = breaches(&all_files());
    assert!(found.is_empty(), "{} lines, see CONTRIBUTING \"Language\":\n{}", found.len(), found.join("\n"));
}

#[test]
fn quoted_lines_still_have_these_words() {
    let files = all_files();
    let is_idle = |(path, quoted): &&(&str, &str)| {
        let alone = |line: &str| !breaches(&[(format!("quoted/{path}"), line.to_owned())]).is_empty();
        !files.iter().any(|(file, text)| file == path && text.lines().any(|line| line.contains(quoted) && alone(line)))
    };
    let idle: Vec<_> = QUOTED.iter().filter(is_idle).collect();
    assert!(idle.is_empty(), "these need no exception: {idle:?}");
}

#[test]
fn other_meanings_are_found() {
    let found = |path: &str, text: &str| breaches(&[(path.to_owned(), text.to_owned())]).len();
    for text in ["a job behind the cursor", "let rank_behind = 1;", "Behind it comes nothing.", "is put behind it"] {
        assert_eq!(found("src/a.rs", text), 1, "{text}");
    }
    for text in ["fn is_behind() {}", "a reader too far behind", "it leaves nothing behind", "behind its own\n// proxy"]
    {
        assert_eq!(found("src/a.rs", text), 0, "{text}");
    }
    for text in ["let most = 1;", "const MOST_JOBS: u8 = 1;", "/// The most jobs of a call.", "// two at the most"] {
        assert_eq!(found("src/a.rs", text), 1, "{text}");
    }
    for text in ["// at most five, and most of them", "fn at_most_once() {}", "/// The most urgent.", "// has the most"]
    {
        assert_eq!(found("src/a.rs", text), 0, "{text}");
    }
    for (path, text) in [("src/a.rs", "/// Of a job: its name."), ("docs/a.md", "It ends. Of many jobs, one stays.")] {
        assert_eq!(found(path, text), 1, "{text}");
    }
    for text in ["enum OfBatch {}", "A part of a job.", "const MAX_OF: u8 = 1;"] {
        assert_eq!(found("src/a.rs", text), 0, "{text}");
    }
}
