//! The transitions as Redis knows them: functions of one library, and the same files as scripts for a Redis that takes no
//! library. A file's header says what it needs; here stands which there are.

mod source;
#[cfg(test)]
mod tests;

use std::{
    fmt::Write,
    sync::{Arc, OnceLock},
};

use sha2::{Digest, Sha256};

use self::source::{Sources, Text, header};
use super::keys::{KEYS, REGISTRY};
use crate::job::{Code, limits, settings::DEFAULT};

/// Defaults of the settings and limits that scripts know by name.
const CONSTANTS: [(&str, u64); 13] = [
    ("SPAN", 1 << limits::SPAN_BITS),
    ("ID_LEN", Code::LEN as u64),
    ("RESERVE_BYTES", limits::RESERVE_BYTES as u64),
    ("RETENTION_MAX", DEFAULT.retention_max as u64),
    ("RETENTION_MS", DEFAULT.retention_ms as u64),
    ("MAX_ATTEMPTS", DEFAULT.max_attempts as u64),
    ("MAX_HOLD_MS", DEFAULT.max_hold_ms as u64),
    ("MAX_JOBS", DEFAULT.max_jobs as u64),
    ("LEASE_MS", DEFAULT.lease_ms as u64),
    ("WORKER_LIMIT", DEFAULT.worker_limit as u64),
    ("WARN_MS", DEFAULT.warn_ms as u64),
    ("BATCH_TOTAL", limits::BATCH_TOTAL as u64),
    ("LATE_RESULTS", limits::LATE_RESULTS),
];

/// Functions that Redis keeps: all transitions in one text.
pub(crate) struct Library {
    /// Another text has another name, so that programs of several versions get on beside each other.
    pub(crate) name: String,
    pub(crate) text: Text,
}

/// One transition, ready to be called as a function of the library or by its digest.
pub(crate) struct Script {
    pub(crate) name: &'static str,
    /// In the order of KEYS.
    pub(crate) keys: Vec<&'static str>,
    pub(crate) function: String,
    /// Not one that only looks.
    pub(crate) writes: bool,
    /// Redis refuses it at `maxmemory`.
    pub(crate) grows: bool,
    flag: Option<&'static str>,
    library: Arc<Library>,
    sources: Arc<Sources>,
    alone: OnceLock<Alone>,
}

/// A script with all that it requires.
pub(crate) struct Alone {
    pub(crate) text: Text,
    pub(crate) sha: String,
}

macro_rules! scripts {
    ($($name:ident)*; $($large:ident of $small:ident)*) => {
        /// One field a file of `lua/transitions` and `lua/views`.
        pub(crate) struct Scripts {
            pub(crate) library: Arc<Library>,
            $(pub(crate) $name: Script,)*
            $(pub(crate) $large: Script,)*
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        /// The same for results and drafts that need memory to spare: refused at `maxmemory`.
        const LARGE: &[(&str, &str)] = &[$((stringify!($large), stringify!($small))),*];

        impl Scripts {
            pub(crate) fn load() -> Self {
                let sources = Arc::new(Sources::carried(&CONSTANTS));
                let library = Arc::new(Library::of(&sources, LARGE));
                let script = |name, called, spare| Script::new(name, called, spare, &library, &sources);
                Self {
                    $($name: script(stringify!($name), stringify!($name), true),)*
                    $($large: script(stringify!($small), stringify!($large), false),)*
                    library: library.clone(),
                }
            }

            #[cfg(test)]
            pub(crate) fn all(&self) -> Vec<&Script> {
                vec![$(&self.$name,)* $(&self.$large),*]
            }
        }
    };
}

scripts! {
    repeats enqueue reserve look undo extend complete abandon fail cancel release requeue reprioritize sweep purge
    create append stage seal withdraw batch batches results
    job list holders locks stats set due seen unseen retire;
    abandon_large of abandon complete_large of complete extend_large of extend
}

impl Library {
    /// Whether a program of ours may have given a library this name.
    pub(crate) fn is_name(name: &str) -> bool {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        name.strip_prefix("intray_").is_some_and(|hash| hash.len() == 16 && hash.bytes().all(is_digit))
    }

    fn of(sources: &Sources, large: &[(&str, &str)]) -> Self {
        let digest = Sha256::digest(library(sources, large, "").code);
        let mut name = "intray_".to_owned();
        for byte in &digest[..8] {
            let _ = write!(name, "{byte:02x}");
        }
        Self { text: library(sources, large, &name), name }
    }

    fn function(&self, called: &str) -> String {
        format!("{}_{called}", self.name)
    }
}

impl Script {
    /// `spare`: works at `maxmemory` too, as far as the file's own flags allow.
    fn new(name: &'static str, called: &str, spare: bool, library: &Arc<Library>, sources: &Arc<Sources>) -> Self {
        let path = sources.entry(name);
        let flag = flag(sources.get(path), spare);
        Self {
            name,
            keys: keys(sources.get(path)),
            function: library.function(called),
            writes: flag != Some(NO_WRITES),
            grows: flag.is_none(),
            flag,
            library: library.clone(),
            sources: sources.clone(),
            alone: OnceLock::new(),
        }
    }

    /// For a Redis that takes no library; made when it is asked for.
    pub(crate) fn alone(&self) -> &Alone {
        self.alone.get_or_init(|| {
            let path = self.sources.entry(self.name);
            let mut text = Text::default();
            text.line(&self.flag.map_or_else(|| "#!lua".to_owned(), |flag| format!("#!lua flags={flag}")));
            text.modules(&self.sources, self.sources.in_order([OPEN].into_iter().chain(self.sources.ways(path))));
            text.line(&format!("local m, call, q, args = m, m['{OPEN}'], {}, ARGV", named(&self.keys, "KEYS")));
            text.line(&answer(&self.sources, path));
            let sha = redis::Script::new(&text.code).get_hash().to_owned();
            Alone { text, sha }
        })
    }

    /// A complaint of Redis's about this script, by the file and its line.
    pub(crate) fn explain(&self, complaint: &str) -> String {
        let text = if complaint.contains("user_function:") { &self.library.text } else { &self.alone().text };
        text.explain(complaint)
    }
}

/// What each call begins with.
const OPEN: &str = "base/call";
const NO_WRITES: &str = "no-writes";
const ALLOW_OOM: &str = "allow-oom";

/// The functions of all entries. At load nothing can be called but `register_function`: so the modules are made by the first
/// call, and stay.
fn library(sources: &Sources, large: &[(&str, &str)], name: &str) -> Text {
    let mut text = Text::default();
    text.line(&format!("#!lua name={name}"));
    text.line("local made");
    text.line("local function make()");
    let ways = sources.entries().flat_map(|path| sources.ways(path));
    text.modules(sources, sources.in_order(std::iter::once(OPEN).chain(ways)));
    text.line("return m");
    text.line("end");
    for path in sources.entries() {
        let entry = path.rsplit('/').next().unwrap_or_default();
        let twins = large.iter().filter(|(_, small)| *small == entry).map(|(large, _)| (*large, false));
        for (called, spare) in std::iter::once((entry, true)).chain(twins) {
            let source = sources.get(path);
            let flag = flag(source, spare).map(|flag| format!("'{flag}'")).unwrap_or_default();
            let (named, first) = (named(&keys(source), "keys"), "keys[1]");
            let kept = format!("call.find('{path}', {first}) or call.keep('{path}', {first}, {named})");
            text.line(&format!("redis.register_function{{function_name = '{name}_{called}', flags = {{{flag}}},"));
            text.line(&format!(
                "callback = function(keys, args) made = made or make(); local m, call = made, made['{OPEN}']; \
                 local q = {kept}; {} end}}",
                answer(sources, path)
            ));
        }
    }
    text
}

/// Each way is tried in its turn; the whole path, which is the last, finds the state of its call opened.
fn answer(sources: &Sources, path: &str) -> String {
    let plain =
        sources.ways(path).filter(|way| *way != path).map(|way| format!("m['{way}'](q, args) or ")).collect::<String>();
    format!("return {plain}m['{path}'](call.open(q), args)")
}

/// A table of an entry's keys by name.
fn named(keys: &[&str], given: &str) -> String {
    let named: Vec<_> = keys.iter().enumerate().map(|(i, key)| format!("{key} = {given}[{}]", i + 1)).collect();
    format!("{{{}}}", named.join(", "))
}

/// Each of a file's keys, in the order of the table.
fn keys(source: &str) -> Vec<&'static str> {
    let named = header(source, "KEYS");
    KEYS.iter().map(|(key, _)| *key).chain([REGISTRY]).filter(|key| named.contains(key)).collect()
}

fn flag(source: &str, spare: bool) -> Option<&'static str> {
    let named = header(source, "FLAGS");
    match (named.contains(&NO_WRITES), named.contains(&ALLOW_OOM)) {
        (true, _) => Some(NO_WRITES),
        (false, true) if spare => Some(ALLOW_OOM),
        (false, _) => None,
    }
}
