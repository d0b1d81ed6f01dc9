//! The Lua files, carried in the binary. A file's header says what it needs, and the loader puts it together: flags, the
//! names of its keys as locals in the order of KEYS, the helpers of `lua/lib/`, and `$NAME` for the limits of `job.rs`.

mod fold;

use std::fmt::Write;

use self::fold::fold;
use super::redis::keys::{KEYS, REGISTRY};
use crate::job::limits;

/// Defaults of the settings and limits that scripts know by name.
const CONSTANTS: [(&str, u64); 12] = [
    ("SPAN", 1 << 46),
    ("RESERVE_BYTES", limits::RESERVE_BYTES as u64),
    ("RETENTION_MAX", super::layout::settings::DEFAULT.retention_max as u64),
    ("RETENTION_MS", super::layout::settings::DEFAULT.retention_ms as u64),
    ("MAX_ATTEMPTS", super::layout::settings::DEFAULT.max_attempts as u64),
    ("MAX_HOLD_MS", super::layout::settings::DEFAULT.max_hold_ms as u64),
    ("MAX_JOBS", super::layout::settings::DEFAULT.max_jobs as u64),
    ("LEASE_MS", super::layout::settings::DEFAULT.lease_ms as u64),
    ("WORKER_LIMIT", super::layout::settings::DEFAULT.worker_limit as u64),
    ("WARN_MS", super::layout::settings::DEFAULT.warn_ms as u64),
    ("BATCH_TOTAL", limits::BATCH_TOTAL as u64),
    ("LATE_RESULTS", 5),
];

/// One transition, ready to be called by its digest.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(super) name: &'static str,
    /// In the order of KEYS.
    pub(super) keys: Vec<&'static str>,
    pub(super) code: String,
    pub(super) sha: String,
    /// Not one that only looks.
    pub(super) writes: bool,
    /// Redis refuses it at `maxmemory`.
    pub(super) grows: bool,
}

macro_rules! scripts {
    ($($name:ident)*) => {
        /// One field a file of `lua/`.
        pub(crate) struct Scripts {
            $(pub(super) $name: Script,)*
            /// The same for results and drafts that need memory to spare: refused at `maxmemory`.
            pub(super) complete_large: Script,
            pub(super) extend_large: Script,
            pub(super) abandon_large: Script,
        }

        impl Scripts {
            pub(super) fn load() -> Self {
                Self {
                    $($name: Script::load(
                        stringify!($name), include_str!(concat!("../../lua/", stringify!($name), ".lua")), true,
                    ),)*
                    complete_large: Script::load("complete", include_str!("../../lua/complete.lua"), false),
                    extend_large: Script::load("extend", include_str!("../../lua/extend.lua"), false),
                    abandon_large: Script::load("abandon", include_str!("../../lua/abandon.lua"), false),
                }
            }

            #[cfg(test)]
            fn files() -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($name), include_str!(concat!("../../lua/", stringify!($name), ".lua")))),*]
            }
        }
    };
}

scripts! {
    repeats enqueue reserve look undo extend complete abandon fail cancel release requeue reprioritize sweep purge
    create append stage seal withdraw batch batches results
    job list holders locks stats set due seen unseen retire
}

macro_rules! libs {
    ($($name:literal)*) => {
        const LIBS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../lua/lib/", $name, ".lua")))),*];
    };
}

// In the order in which they stand in a script: a helper comes after those that it uses.
libs! {
    "clock" "write" "record" "place" "event" "total" "stamp" "order" "hint" "batch" "commit" "gate" "baton" "skip" "leave"
    "dedupe" "ending" "back" "store" "line" "hand" "upcoming" "overdue" "settle" "lapse" "draft" "gone" "stage" "search"
    "view"
}

impl Script {
    /// `spare`: works at `maxmemory` too, as far as the file's own flags allow.
    fn load(name: &'static str, source: &'static str, spare: bool) -> Self {
        let mut libs = Vec::new();
        collect_libs(source, &mut libs);
        let mut keys = header(source, "KEYS");
        for (lib, text) in LIBS.iter().filter(|(lib, _)| libs.contains(lib)) {
            debug_assert!(libs.contains(lib));
            keys.extend(header(text, "KEYS"));
        }
        let keys = known_keys(&keys);
        let flags = header(source, "FLAGS").into_iter().find(|flag| spare || *flag == "no-writes");
        let (writes, grows) = (flags != Some("no-writes"), flags.is_none());

        let mut code = flags.map_or_else(|| "#!lua\n".to_owned(), |flag| format!("#!lua flags={flag}\n"));
        for (i, key) in keys.iter().enumerate() {
            let _ = writeln!(code, "local {key} = KEYS[{}]", i + 1);
        }
        for (_, text) in LIBS.iter().filter(|(lib, _)| libs.contains(lib)) {
            code.push_str(text);
        }
        code.push_str(source);
        for (constant, value) in CONSTANTS {
            code = code.replace(&format!("${constant}"), &value.to_string());
        }
        let code = fold(&code);
        let sha = redis::Script::new(&code).get_hash().to_owned();
        Self { name, keys, code, sha, writes, grows }
    }
}

/// The helpers that a file names, and those that they name.
fn collect_libs(source: &'static str, into: &mut Vec<&'static str>) {
    for name in header(source, "USES") {
        if !into.contains(&name) {
            into.push(name);
            if let Some((_, text)) = LIBS.iter().find(|(lib, _)| *lib == name) {
                collect_libs(text, into);
            }
        }
    }
}

/// Each of a file's keys once, in the order of the table.
fn known_keys(named: &[&'static str]) -> Vec<&'static str> {
    KEYS.iter().map(|(key, _)| *key).chain([REGISTRY]).filter(|key| named.contains(key)).collect()
}

/// The words of a header's lines, without the types and dots between them.
fn header(source: &'static str, title: &str) -> Vec<&'static str> {
    let lines = source.lines().take_while(|line| line.starts_with("--"));
    let body = lines.filter_map(|line| line.strip_prefix("-- ")?.strip_prefix(title)?.strip_prefix(' '));
    body.flat_map(str::split_whitespace)
        .filter(|word| !matches!(*word, "·" | "zset" | "hash" | "stream" | "channel"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comments aside, is `word` used in `text`?
    fn uses(text: &str, word: &str) -> bool {
        let code = text.lines().map(|line| line.split("--").next().unwrap_or_default());
        code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|found| found == word)
    }

    #[test]
    fn a_header_names_the_keys_that_its_body_uses_and_no_others() {
        let all = Scripts::files().into_iter().chain(LIBS.iter().copied());
        for (name, source) in all {
            let named = header(source, "KEYS");
            for key in &named {
                assert!(uses(source, key), "{name} names the key {key} and does not use it");
                assert!(KEYS.iter().any(|(k, _)| k == key) || *key == REGISTRY, "{name}: {key} is no key");
            }
            for lib in header(source, "USES") {
                assert!(LIBS.iter().any(|(l, _)| *l == lib), "{name}: {lib} is no helper");
            }
        }
    }

    #[test]
    fn a_header_says_the_transition_the_arguments_and_the_reply() {
        for (name, source) in Scripts::files() {
            assert!(source.starts_with(&format!("-- {name}: ")), "{name}: the first line says the transition");
            for title in ["-- ARGV ", "-- REPLY "] {
                assert!(source.contains(title), "{name} has no {title}");
            }
        }
    }

    #[test]
    fn who_writes_what_happened_answers_what_was_counted() {
        for (name, source) in Scripts::files() {
            let writes = ["commit()", "write_events()"].iter().any(|call| source.contains(call));
            let last = source.rsplit("\nreturn ").next().unwrap_or_default();
            assert_eq!(writes, last.starts_with("counted("), "{name}");
        }
    }

    #[test]
    fn no_constant_is_left_open() {
        for (name, source) in Scripts::files() {
            assert!(!Script::load(name, source, true).code.contains('$'), "{name}");
        }
    }

    #[test]
    fn nothing_counts_or_walks_a_whole_keyspace() {
        for (name, source) in Scripts::files().into_iter().chain(LIBS.iter().copied()) {
            for word in ["'KEYS'", "'SCAN'", "'HSCAN'", "'LREM'", "'SMEMBERS'"] {
                assert!(!source.contains(word), "{name} calls {word}");
            }
        }
    }
}
