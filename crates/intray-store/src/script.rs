//! The transitions as Redis knows them: functions of one library, or separate scripts for a Redis without library support.
//! A file's header declares what the file needs, and its Rust twin calls it by name.

mod calls;
mod constants;
mod source;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock, OnceLock};

use intray_metrics::{SCRIPT_DURATION_SECONDS, SCRIPT_GROUP_JOBS};
use prometheus::Histogram;

use self::{
    constants::constants,
    source::{LuaSources, LuaText, header},
};
use super::keys::{GLOBAL_KEYS, KEYS};
use crate::sha256::{Sha256, hex};

/// The library that Redis keeps: all transitions in one text.
pub(crate) struct ScriptLibrary {
    /// A different text has a different name, so that several versions of the program can share a Redis.
    pub(crate) name: String,
    pub(crate) text: LuaText,
}

/// One transition, which can be called as a library function or by its digest.
pub(crate) struct StoreScript {
    path: &'static str,
    pub(crate) name: &'static str,
    /// The variant for large calls, which needs free memory.
    is_large: bool,
    /// In the order of KEYS.
    pub(crate) keys: Vec<&'static str>,
    pub(crate) function: String,
    /// False for read-only scripts.
    pub(crate) writes: bool,
    /// Redis refuses the script at `maxmemory`.
    pub(crate) grows: bool,
    flag: Option<&'static str>,
    library: Arc<ScriptLibrary>,
    sources: Arc<LuaSources>,
    standalone: OnceLock<Standalone>,
    metrics: OnceLock<ScriptMetrics>,
}

/// The histograms of a script, looked up at its first run.
pub(crate) struct ScriptMetrics {
    pub(crate) duration: Histogram,
    /// For scripts whose calls are batched.
    pub(crate) group_jobs: Histogram,
}

/// A script with all modules that it requires.
pub(crate) struct Standalone {
    pub(crate) text: LuaText,
    pub(crate) sha: String,
}

/// All files of `lua/transitions` and `lua/views`.
pub(crate) struct Scripts {
    pub(crate) library: Arc<ScriptLibrary>,
    /// Sorted by name.
    all: Vec<StoreScript>,
}

impl Scripts {
    /// Made once for all services of a program.
    pub(crate) fn get() -> &'static Self {
        static SCRIPTS: LazyLock<Scripts> = LazyLock::new(Scripts::load);
        &SCRIPTS
    }

    fn load() -> Self {
        let sources = Arc::new(LuaSources::carried(&constants()));
        let library = Arc::new(ScriptLibrary::of(&sources));
        let mut all: Vec<_> =
            calls(&sources).map(|(path, is_large)| StoreScript::new(path, is_large, &library, &sources)).collect();
        all.sort_unstable_by_key(|script| (script.name, script.is_large));
        Self { library, all }
    }

    /// The script with this name. `is_large` selects the variant for large calls, if there is one.
    pub(crate) fn named(&self, name: &str, is_large: bool) -> &StoreScript {
        let found = self.all.binary_search_by(|script| (script.name, script.is_large).cmp(&(name, is_large)));
        found.map_or_else(|_| panic!("no file in lua/ is {name}, large: {is_large}"), |at| &self.all[at])
    }

    #[cfg(test)]
    pub(crate) fn all(&self) -> &[StoreScript] {
        &self.all
    }
}

impl ScriptLibrary {
    /// Whether the name has the form of our library names.
    pub(crate) fn is_name(name: &str) -> bool {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        name.strip_prefix("intray_").is_some_and(|hash| hash.len() == 16 && hash.bytes().all(is_digit))
    }

    fn of(sources: &LuaSources) -> Self {
        let digest = Sha256::digest(library(sources, "").code);
        let name = format!("intray_{}", hex(&digest[..8]));
        Self { text: library(sources, &name), name }
    }
}

impl StoreScript {
    fn new(path: &str, is_large: bool, library: &Arc<ScriptLibrary>, sources: &Arc<LuaSources>) -> Self {
        let flag = flag(sources.get(path), is_large);
        // Metrics use the name of a script as long as the program runs.
        let path: &'static str = path.to_owned().leak();
        Self {
            path,
            name: name_of(path),
            is_large,
            keys: keys(sources.get(path)),
            function: function(&library.name, path, is_large),
            writes: flag != Some(NO_WRITES),
            grows: flag.is_none(),
            flag,
            library: library.clone(),
            sources: sources.clone(),
            standalone: OnceLock::new(),
            metrics: OnceLock::new(),
        }
    }

    pub(crate) fn metrics(&self) -> &ScriptMetrics {
        self.metrics.get_or_init(|| ScriptMetrics {
            duration: SCRIPT_DURATION_SECONDS.of(&[self.name]),
            group_jobs: SCRIPT_GROUP_JOBS.of(&[self.name]),
        })
    }

    /// The text for a Redis without library support, made on first use.
    pub(crate) fn standalone(&self) -> &Standalone {
        self.standalone.get_or_init(|| {
            let (path, mut text) = (self.path, LuaText::default());
            text.line(&self.flag.map_or_else(|| "#!lua".to_owned(), |flag| format!("#!lua flags={flag}")));
            text.modules(&self.sources, self.sources.in_order([OPEN, path]));
            text.line(&format!("local m, call, q, args = m, m['{OPEN}'], {}, ARGV", named(&self.keys, "KEYS")));
            text.line(&answer(path));
            let sha = redis::Script::new(&text.code).get_hash().to_owned();
            Standalone { text, sha }
        })
    }
}

/// The module that starts each call.
const OPEN: &str = "base/call";
const NO_WRITES: &str = "no-writes";
const ALLOW_OOM: &str = "allow-oom";
/// A flag in a header: large calls use a separate variant, which Redis refuses at `maxmemory`.
const IF_SMALL: &str = "if-small";

/// All callable scripts: each entry point, and its variant for large calls if there is one.
fn calls(sources: &LuaSources) -> impl Iterator<Item = (&str, bool)> {
    sources.entries().flat_map(|path| {
        let has_large = header(sources.get(path), "FLAGS").contains(&IF_SMALL);
        std::iter::once((path, false)).chain(has_large.then_some((path, true)))
    })
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn function(library: &str, path: &str, is_large: bool) -> String {
    format!("{library}_{}{}", name_of(path), if is_large { "_large" } else { "" })
}

/// The functions of all entry points. Redis allows only `register_function` during the load, so the first call creates the
/// modules, which are then kept.
fn library(sources: &LuaSources, name: &str) -> LuaText {
    let mut text = LuaText::default();
    text.line(&format!("#!lua name={name}"));
    text.line("local made");
    text.line("local function make()");
    text.modules(sources, sources.in_order(std::iter::once(OPEN).chain(sources.entries())));
    text.line("return m");
    text.line("end");
    for (path, is_large) in calls(sources) {
        let source = sources.get(path);
        let flag = flag(source, is_large).map(|flag| format!("'{flag}'")).unwrap_or_default();
        let (function, named, first) = (function(name, path, is_large), named(&keys(source), "keys"), "keys[1]");
        let kept = format!("call.find('{path}', {first}) or call.keep('{path}', {first}, {named})");
        text.line(&format!("redis.register_function{{function_name = '{function}', flags = {{{flag}}},"));
        text.line(&format!(
            "callback = function(keys, args) made = made or make(); local m, call = made, made['{OPEN}']; \
             local q = {kept}; {} end}}",
            answer(path)
        ));
    }
    text
}

/// The call of an entry point begins with an initialized state, and keeps nothing large of it.
fn answer(path: &str) -> String {
    format!("local reply = m['{path}'](call.open(q), args); call.close(q); return reply")
}

/// A Lua table of an entry point's keys by name.
fn named(keys: &[&str], given: &str) -> String {
    let named: Vec<_> = keys.iter().enumerate().map(|(i, key)| format!("{key} = {given}[{}]", i + 1)).collect();
    format!("{{{}}}", named.join(", "))
}

/// The keys of a file, in the order of the table.
fn keys(source: &str) -> Vec<&'static str> {
    let named = header(source, "KEYS");
    KEYS.iter().chain(&GLOBAL_KEYS).map(|(key, _)| *key).filter(|key| named.contains(key)).collect()
}

fn flag(source: &str, is_large: bool) -> Option<&'static str> {
    let named = header(source, "FLAGS");
    match (named.contains(&NO_WRITES), named.contains(&ALLOW_OOM)) {
        (true, _) => Some(NO_WRITES),
        (false, true) if !is_large => Some(ALLOW_OOM),
        (false, _) => None,
    }
}
