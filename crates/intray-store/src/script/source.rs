//! The files of `lua/` in the binary: what each requires, and the texts made from them.

use std::{collections::BTreeMap, fmt::Write};

use rust_embed::RustEmbed;

/// Embedded in a release; a debug build reads them from disk.
#[derive(RustEmbed)]
#[folder = "../../lua/"]
struct CarriedFiles;

/// The folders of the entry points; all others hold modules.
const ENTRIES: [&str; 2] = ["transitions/", "views/"];

/// All files by the name in `require`.
pub(super) struct LuaSources(BTreeMap<String, String>);

/// A Lua text for Redis, and the first line of each file in it.
#[derive(Default)]
pub(crate) struct LuaText {
    pub(crate) code: String,
    lines: usize,
    parts: Vec<(usize, String)>,
}

impl LuaSources {
    /// The files with all constants (`$NAME`) filled in.
    pub(super) fn carried(constants: &[(&str, String)]) -> Self {
        let text = |path: &str| CarriedFiles::get(path).map(|file| String::from_utf8_lossy(&file.data).into_owned());
        let files = CarriedFiles::iter().filter_map(|path| Some((path.strip_suffix(".lua")?.to_owned(), text(&path)?)));
        Self::of(files, constants)
    }

    pub(super) fn of(files: impl Iterator<Item = (String, String)>, constants: &[(&str, String)]) -> Self {
        Self(files.map(|(name, text)| (name, with_values(&text, constants))).collect())
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &str> {
        let is_entry = |name: &&str| ENTRIES.iter().any(|folder| name.starts_with(folder));
        self.0.keys().map(String::as_str).filter(is_entry)
    }

    /// The files with all that they require, in the order of their dependencies.
    pub(super) fn in_order<'s>(&'s self, names: impl IntoIterator<Item = &'s str>) -> Vec<&'s str> {
        let (mut begun, mut order) = (Vec::new(), Vec::new());
        for name in names {
            self.collect(name, &mut begun, &mut order);
        }
        order
    }

    fn collect<'s>(&'s self, name: &'s str, begun: &mut Vec<&'s str>, order: &mut Vec<&'s str>) {
        if begun.contains(&name) {
            return;
        }
        begun.push(name);
        for needed in required(self.get(name)) {
            self.collect(needed, begun, order);
        }
        order.push(name);
    }
}

impl LuaText {
    pub(super) fn line(&mut self, line: &str) {
        self.code.push_str(line);
        self.code.push('\n');
        self.lines += 1;
    }

    /// Writes the modules into a table `m`. Comments become empty lines.
    pub(super) fn modules<'s>(&mut self, sources: &'s LuaSources, names: impl IntoIterator<Item = &'s str>) {
        self.line("local m = {}");
        self.line("local function require(name) return m[name] end");
        for name in names {
            self.line(&format!("m['{name}'] = (function()"));
            self.parts.push((self.lines, name.to_owned()));
            for line in sources.get(name).lines() {
                self.line(if line.trim_start().starts_with("--") { "" } else { line });
            }
            self.line("end)()");
        }
    }

    /// An error of Redis, with the file and its line instead of the line in the text.
    pub(crate) fn explain(&self, complaint: &str) -> String {
        let mut out = String::new();
        let mut rest = complaint;
        while let Some((at, mark)) =
            ["user_function:", "user_script:"].iter().filter_map(|mark| rest.find(mark).map(|at| (at, mark))).min()
        {
            let (before, after) = (&rest[..at], &rest[at + mark.len()..]);
            let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let place = after[..digits].parse().ok().and_then(|line| self.place(line));
            let _ = match place {
                Some((file, line)) => write!(out, "{before}lua/{file}.lua:{line}"),
                None => write!(out, "{before}{mark}{}", &after[..digits]),
            };
            rest = &after[digits..];
        }
        out + rest
    }

    fn place(&self, line: usize) -> Option<(&str, usize)> {
        let (begin, file) = self.parts.iter().rev().find(|(begin, _)| *begin < line)?;
        Some((file, line - begin))
    }
}

/// The modules that a file requires, in order.
pub(super) fn required(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    code.filter_map(|line| line.split_once("require '")?.1.split_once('\'').map(|(name, _)| name))
}

/// The words in the lines of a header with this title.
pub(super) fn header<'s>(text: &'s str, title: &str) -> Vec<&'s str> {
    let lines = text.lines().take_while(|line| line.starts_with("--"));
    let body = lines.filter_map(|line| line.strip_prefix("-- ")?.strip_prefix(title)?.strip_prefix(' '));
    body.flat_map(str::split_whitespace).collect()
}

fn with_values(text: &str, constants: &[(&str, String)]) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(part.len());
        let _ = match constants.iter().find(|(name, _)| *name == &part[..end]) {
            Some((_, value)) => write!(out, "{value}{}", &part[end..]),
            None => write!(out, "${part}"),
        };
    }
    out
}
