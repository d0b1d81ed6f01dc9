//! Tests of the loader on small files, and of the rules for all files of `lua/`.

use std::collections::BTreeSet;

use super::{
    source::{header, required},
    *,
};

fn tree(files: &[(&str, &str)]) -> LuaSources {
    LuaSources::of(
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())),
        &[("MAX", "7".to_owned())],
    )
}

fn carried() -> LuaSources {
    LuaSources::carried(&constants())
}

#[test]
fn required_files_come_first_and_once() {
    let sources = tree(&[
        ("base/a", "local b = require 'base/b'\n-- require 'base/z'\nreturn {}"),
        ("base/b", "return {}"),
        ("transitions/t", "local b = require 'base/b'\nlocal a = require 'base/a'\nreturn function() end"),
    ]);
    assert_eq!(sources.in_order(["transitions/t"]), ["base/b", "base/a", "transitions/t"]);
    assert_eq!(sources.entries().collect::<Vec<_>>(), ["transitions/t"]);
}

#[test]
fn script_error_names_the_lua_file_and_line() {
    let sources = tree(&[("base/a", "-- a\nlocal max = $MAX\nreturn {}"), ("views/v", "return function() end")]);
    let mut text = LuaText::default();
    text.modules(&sources, ["base/a", "views/v"]);
    assert!(text.code.contains("local max = 7\n") && !text.code.contains("-- a"), "{}", text.code);
    let line = 1 + text.code.lines().position(|line| line.contains("max")).expect("the line");
    let complaint = format!("user_script:{line}: no, on @user_script:{line}. user_function:x");
    assert_eq!(text.explain(&complaint), "lua/base/a.lua:2: no, on @lua/base/a.lua:2. user_function:x");
}

#[test]
fn library_name_is_a_digest_of_its_text() {
    let one = ScriptLibrary::of(&tree(&[("views/v", "return function() end")]));
    let other = ScriptLibrary::of(&tree(&[("views/v", "return function() return 1 end")]));
    assert!(one.name != other.name && ScriptLibrary::is_name(&one.name), "{} {}", one.name, other.name);
    assert!(one.text.code.starts_with(&format!("#!lua name={}\n", one.name)));
    for name in ["intray_0123", "intray_0123456789ABCDEF", "other_0123456789abcdef", "intray_0123456789abcdef_x"] {
        assert!(!ScriptLibrary::is_name(name), "{name}");
    }
}

#[test]
fn entry_point_names_are_unique() {
    let sources = carried();
    let names: BTreeSet<_> = sources.entries().map(name_of).collect();
    assert_eq!(names.len(), sources.entries().count());
}

/// The code of a file without comments.
fn code(source: &str) -> String {
    let lines = source.lines().map(|line| line.split(" -- ").next().unwrap_or_default());
    lines.filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n")
}

/// The names after a prefix such as `q.`.
fn names_after<'c>(code: &'c str, prefix: &str) -> BTreeSet<&'c str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = code.match_indices(prefix).filter(|(at, _)| !code[..*at].ends_with(is_word));
    let names = starts.map(|(at, found)| &code[at + found.len()..]);
    names.map(|rest| &rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())]).collect()
}

/// The quoted texts directly after a prefix.
fn quoted_after<'c>(code: &'c str, prefix: &str) -> BTreeSet<&'c str> {
    let begin = format!("{prefix}'");
    let starts = code.match_indices(&begin).map(|(at, found)| &code[at + found.len()..]);
    starts.filter_map(|rest| rest.split_once('\'').map(|(word, _)| word)).collect()
}

#[test]
fn header_lists_all_keys_that_are_used() {
    let sources = carried();
    let mut wrong = Vec::new();
    let known: Vec<_> = KEYS.iter().copied().chain(GLOBAL_KEYS).collect();
    for entry in sources.entries() {
        let code: String = sources.in_order([entry]).iter().map(|name| code(sources.get(name)) + "\n").collect();
        let mut used = names_after(&code, "q.");
        // Deferred commands, and reads of a set by name, get the name as an argument.
        let named = [
            "write.set(q, ",
            "write.add(q, ",
            "write.delete(q, ",
            "write.remove(q, ",
            "key = ",
            "take(q, ",
            "set_score(q, ",
        ];
        for line in code.lines().filter(|line| named.iter().any(|call| line.contains(call))) {
            used.extend(line.split('\'').skip(1).step_by(2));
        }
        let used = known.iter().filter(|(key, _)| used.contains(key));
        let needed: Vec<_> = used.flat_map(|(key, kind)| [*key, *kind]).collect();
        let named: Vec<_> = header(sources.get(entry), "KEYS").into_iter().filter(|word| *word != "·").collect();
        if named != needed {
            wrong.push(format!("{entry}: {named:?} should be {needed:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn header_has_title_arguments_and_reply() {
    let sources = carried();
    for entry in sources.entries() {
        let source = sources.get(entry);
        let name = entry.rsplit('/').next().unwrap_or_default();
        assert!(source.starts_with(&format!("-- {name}: ")), "{entry}: the first line says the transition");
        for title in ["ARGV", "REPLY", "KEYS"] {
            assert!(!header(source, title).is_empty(), "{entry} has no {title}");
        }
        let flags = header(source, "FLAGS");
        assert!(flags.iter().all(|flag| [NO_WRITES, ALLOW_OOM, IF_SMALL].contains(flag)), "{entry}: {flags:?}");
        assert_eq!(entry.starts_with("views/"), flags.contains(&NO_WRITES), "{entry}: a view only looks");
        assert!(source.trim_end().ends_with("\nend") && source.contains("\nreturn function(q"), "{entry}");
    }
    for (name, source) in sources.all() {
        let begin = source.lines().next().unwrap_or_default();
        assert!(begin.starts_with(&format!("-- {}: ", name.rsplit('/').next().unwrap_or_default())), "{name}: {begin}");
    }
}

#[test]
fn header_states_the_arguments_per_item() {
    let sources = carried();
    for entry in sources.entries() {
        let source = sources.get(entry);
        let arguments = header(source, "ARGV").join(" ");
        let stated = arguments.match_indices("per ").find_map(|(at, _)| {
            let word = arguments[at..].split(' ').nth(2)?;
            word.strip_suffix(':')?.parse::<u32>().ok()
        });
        let strides = source.lines().find_map(|line| {
            let (names, values) = line.strip_prefix("local ")?.split_once(" = ")?;
            let at = names.split(", ").position(|name| name == "STRIDE")?;
            values.split(", ").nth(at)?.parse::<u32>().ok()
        });
        assert_eq!(stated, strides, "{entry}");
    }
}

#[test]
fn header_lists_exactly_the_reply_words() {
    let mut wrong = Vec::new();
    let sources = carried();
    for entry in sources.entries() {
        let source = sources.get(entry);
        let stated = header(source, "REPLY").join(" ");
        let stated: BTreeSet<_> = stated.split('\'').skip(1).step_by(2).filter(|word| !word.is_empty()).collect();
        let code: String = sources.in_order([entry]).iter().map(|name| code(sources.get(name)) + "\n").collect();
        for word in &stated {
            if !code.contains(&format!("'{word}'")) {
                wrong.push(format!("{entry}: no file says {word}"));
            }
        }
        let own = self::code(source);
        for word in quoted_after(&own, "return {").into_iter().chain(quoted_after(&own, "reply = {")) {
            if !word.is_empty() && !stated.contains(word) {
                wrong.push(format!("{entry}: REPLY has no {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The folders from which a file may require modules, by its own folder.
const ROOMS: [(&str, &[&str]); 5] = [
    ("base/", &["base/"]),
    ("jobs/", &["base/", "jobs/"]),
    ("batches/", &["base/", "jobs/", "batches/"]),
    ("transitions/", &["base/", "jobs/", "batches/"]),
    ("views/", &["base/", "jobs/", "batches/"]),
];

#[test]
fn requires_go_down_without_circles() {
    let sources = carried();
    for (name, source) in sources.all() {
        let (_, rooms) = ROOMS.iter().find(|(room, _)| name.starts_with(room)).expect(name);
        for needed in required(source) {
            assert!(rooms.iter().any(|room| needed.starts_with(room)), "{name} requires {needed}");
            assert!(!sources.get(needed).is_empty(), "{name} requires {needed}, which is none");
            assert!(!sources.in_order([needed]).contains(&name), "{name} and {needed} require each other");
        }
    }
}

#[test]
fn required_names_are_used_and_defined() {
    let sources = carried();
    for (name, source) in sources.all() {
        let code = code(source);
        for line in code.lines().filter(|line| line.contains("require '")) {
            let (local, path) =
                line.strip_prefix("local ").and_then(|rest| rest.split_once(" = require '")).expect(line);
            let given = self::code(sources.get(path.trim_end_matches('\'')));
            let taken = names_after(&code, &format!("{local}."));
            let calls = code.matches(&format!("{local}(")).count();
            assert!(!taken.is_empty() || calls > 0, "{name} requires {path} and does not use it");
            for field in taken {
                let forms =
                    [format!("{local}.{field} = "), format!("function {local}.{field}("), format!("{field} = ")];
                let is_listed =
                    |names: &str| names.split(", ").any(|listed| listed.trim() == format!("{local}.{field}"));
                let is_given = forms.iter().any(|form| given.contains(form))
                    || given.lines().any(|line| line.split_once(" = ").is_some_and(|(names, _)| is_listed(names)));
                assert!(is_given, "{name} takes {field} of {path}, which does not give it");
            }
        }
    }
}

/// The table `q` is kept between calls, so a field that is not reset would be visible to the next call.
#[test]
fn call_state_is_reset_before_each_call() {
    let sources = carried();
    let opened = code(sources.get(super::OPEN));
    let mut left = BTreeSet::new();
    for (name, source) in sources.all() {
        let assignments = code(source);
        let assignments = assignments.lines().map(str::trim).filter(|line| line.starts_with("q."));
        for (names, _) in assignments.filter_map(|line| line.split_once(" = ")) {
            for field in names.split(", ").filter_map(|word| word.strip_prefix("q.")) {
                let is_field = field.chars().all(|c| c.is_alphanumeric() || c == '_');
                if is_field && !opened.contains(&format!("q.{field}")) {
                    left.insert(format!("{name}: q.{field}"));
                }
            }
        }
    }
    assert!(left.is_empty(), "base/call does not open {left:?}");
}

#[test]
fn every_constant_is_filled_in() {
    for (name, source) in carried().all() {
        assert!(!source.contains('$'), "{name}");
    }
}

#[test]
fn every_constant_stands_once_and_is_used() {
    let as_written = LuaSources::carried(&[]);
    let code: String = as_written.all().map(|(_, source)| code(source) + "\n").collect();
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
    let used: BTreeSet<_> =
        code.split('$').skip(1).map(|rest| rest.split(|c| !is_part(c)).next().unwrap_or_default()).collect();
    let constants = constants();
    let known: BTreeSet<_> = constants.iter().map(|(name, _)| *name).collect();
    assert_eq!(known.len(), constants.len(), "two constants have one name");
    assert_eq!(known, used, "what Rust knows, and what a file of lua/ uses");
}

#[test]
fn scripts_never_scan_a_keyspace() {
    for (name, source) in carried().all() {
        for word in ["'KEYS'", "'SCAN'", "'HSCAN'", "'LREM'", "'SMEMBERS'"] {
            // One hash in parts, as a name is taken out of jobs that others move meanwhile.
            let may = word == "'HSCAN'" && name == "jobs/unnaming";
            assert!(may || !source.contains(word), "{name} calls {word}");
        }
    }
}
