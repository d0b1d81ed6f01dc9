//! The stored figures, in two readable files.

use std::{collections::BTreeMap, process::Command};

use super::super::kept::{Figure, Line, Parts};

/// Read at run time, so that an edit needs no build.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/figures/cost/kept.txt");
const FUNCTIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/figures/cost/functions.txt");
const WITH: &str = "Kept with ";

/// Figures by name, and the tools that measured them.
pub struct Kept {
    head: Vec<String>,
    pub versions: String,
    lines: Vec<Line>,
}

impl Kept {
    pub fn read() -> Self {
        let text = std::fs::read_to_string(KEPT).expect("what is kept");
        let versions = text.lines().find_map(|line| line.strip_prefix(WITH)).unwrap_or_default().to_owned();
        let is_head = |line: &&str| !line.starts_with(WITH) && !line.is_empty();
        let head = text.lines().take_while(is_head).map(str::to_owned).collect();
        Self { head, versions, lines: text.lines().filter_map(Line::read).collect() }
    }

    pub fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == name)
    }

    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter()
    }

    /// Stores these figures, in the order of the file; removes others if all were measured.
    pub fn take(&mut self, figures: &[Figure], versions: &str, are_all: bool) {
        let lines = std::mem::take(&mut self.lines);
        let is_new = |figure: &&Figure| !lines.iter().any(|line| line.name == figure.name);
        let new: Vec<_> = figures.iter().filter(is_new).map(|figure| Line::of(figure, None)).collect();
        let again = lines.into_iter().filter_map(|line| match figures.iter().find(|figure| figure.name == line.name) {
            Some(figure) => Some(Line::of(figure, Some(&line))),
            None => (!are_all).then_some(line),
        });
        self.lines = again.chain(new).collect();
        versions.clone_into(&mut self.versions);
    }

    pub fn write(&self) {
        let lines = self.lines.iter().map(Line::to_string);
        let all: Vec<_> =
            self.head.iter().cloned().chain([format!("{WITH}{}", self.versions), String::new()]).chain(lines).collect();
        std::fs::write(KEPT, all.join("\n") + "\n").expect("written");
    }
}

/// For each figure of the service, the instructions per cycle by function: a name, and its functions below it.
#[derive(Default)]
pub struct Functions(BTreeMap<String, Parts>);

impl Functions {
    pub fn read() -> Self {
        let (mut all, mut name) = (BTreeMap::<_, Parts>::new(), String::new());
        for line in std::fs::read_to_string(FUNCTIONS).unwrap_or_default().lines() {
            match line.trim_start().split_once("  ").filter(|_| line.starts_with(' ')) {
                Some((cost, function)) => {
                    let cost = cost.parse().expect("a number");
                    all.entry(name.clone()).or_default().insert(function.to_owned(), cost);
                }
                None => line.clone_into(&mut name),
            }
        }
        Self(all)
    }

    pub fn of(&self, name: &str) -> &Parts {
        const NONE: &Parts = &Parts::new();
        self.0.get(name).unwrap_or(NONE)
    }

    pub fn take(&mut self, name: String, functions: Parts) {
        self.0.insert(name, functions);
    }

    pub fn write(&self) {
        let mut text = String::new();
        for (name, functions) in &self.0 {
            let mut functions: Vec<_> = functions.iter().collect();
            functions.sort_by(|a, b| b.1.total_cmp(a.1));
            let lines = functions.iter().map(|(function, cost)| format!("{cost:>8.0}  {function}\n"));
            text += &format!("{name}\n{}", lines.collect::<String>());
        }
        std::fs::write(FUNCTIONS, text).expect("written");
    }
}

/// The tool versions that a figure depends on.
pub fn versions(engine: &str) -> String {
    let version = |program: &str| {
        let version = Command::new(program).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
        let version = String::from_utf8_lossy(&version).into_owned();
        let number = version.split([' ', '-', '=']).find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        number.unwrap_or("none").trim().to_owned()
    };
    let [rustc, redis, valgrind] = ["rustc", engine, "valgrind"].map(version);
    let engine = engine.rsplit('/').next().unwrap_or_default();
    format!("rustc {rustc}, {engine} {redis}, valgrind {valgrind}, {}", std::env::consts::ARCH)
}
