//! The files of `web/`, and the modules that are joined of several: embedded in a release, read again for each request in a debug build.

use std::sync::LazyLock;

use rust_embed::RustEmbed;

use crate::http::site::generated::GeneratedFile;

/// Only those that a browser reads are served.
#[derive(RustEmbed)]
#[folder = "web/"]
pub struct Files;

pub const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The modules that are served as one file each, with all that they import.
const MODULES: [&str; 3] = ["client/client.js", "client/form.js", DESK];
/// A page of ours, and nothing to read: it is served without comments and indentation.
const DESK: &str = "desk/desk.js";

/// A release joins them once, at the first request.
static JOINED: LazyLock<[GeneratedFile; MODULES.len()]> = LazyLock::new(|| MODULES.map(made_module));

/// The module of this name, if it is joined of several files.
pub fn find(name: &str) -> Option<GeneratedFile> {
    let at = MODULES.iter().position(|module| *module == name)?;
    Some(if cfg!(debug_assertions) { made_module(MODULES[at]) } else { JOINED[at].clone() })
}

fn made_module(name: &str) -> GeneratedFile {
    GeneratedFile::new(joined(name), JAVASCRIPT)
}

/// The module in one file, each part after those that it imports: one answer of one version, which can be copied.
fn joined(name: &str) -> String {
    let (face, parts) = part(name, name, &mut Vec::new());
    face + &parts
}

/// A part without its imports, and before it the parts that it imports and that are not `known` yet. An import is one
/// line and renames nothing; names are unique over all parts. What is no file of ours here is imported by the page.
fn part(name: &str, entry: &str, known: &mut Vec<String>) -> (String, String) {
    known.push(name.to_owned());
    let (mut own, mut needed) = (String::new(), String::new());
    let text = Files::get(name).map(|file| String::from_utf8_lossy(&file.data).into_owned()).unwrap_or_default();
    let is_bare = entry == DESK;
    let lines = text.lines().map(|line| if is_bare { line.trim_start() } else { line });
    for line in lines.filter(|line| !is_bare || !(line.is_empty() || is_comment(line))) {
        let from = imported(name, line);
        let kept = match &from {
            Some((names, _)) if names.starts_with("export") && name == entry => names,
            Some(_) => "",
            // Types are in files of their own for pages.
            None if line.starts_with("/** @import ") => "",
            None if name == entry => line,
            None => line.strip_prefix("export ").unwrap_or(line),
        };
        if let Some((_, file)) = from.as_ref().filter(|(_, file)| !known.contains(file)) {
            let (module, before) = part(file, entry, known);
            needed.extend([before, "\n".to_owned(), module]);
        }
        if !kept.is_empty() || line.is_empty() {
            own.extend([kept, "\n"]);
        }
    }
    (own, needed)
}

/// A line without code.
fn is_comment(line: &str) -> bool {
    let begins_one = line.starts_with("/*") && line.find("*/").is_none_or(|end| end + 2 == line.len());
    begins_one || line == "*" || ["//", "* ", "*/"].iter().any(|begin| line.starts_with(begin))
}

/// What a line of a file imports from one of ours: the line without its source, and that file.
fn imported<'l>(name: &str, line: &'l str) -> Option<(&'l str, String)> {
    let (names, source) = line.split_once(" from '")?;
    let mut path: Vec<&str> = name.split('/').collect();
    path.pop();
    for step in source.strip_suffix('\'')?.split('/') {
        match step {
            "." => {}
            ".." => {
                path.pop()?;
            }
            _ => path.push(step),
        }
    }
    Some((names, path.join("/"))).filter(|(_, file)| file.ends_with(".js") && Files::get(file).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_is_one_file_without_imports() {
        let once = [
            ("client/client.js", ["\nexport { Intray }\n", "\nclass Intray ", "\nclass IntrayError ", "\nclass Job "]),
            (
                "client/form.js",
                ["\nexport { drawForm }\n", "\nclass Drawn ", "\nfunction readForm(", "\nfunction shown("],
            ),
        ];
        for (name, things) in once {
            let module = joined(name);
            for line in module.lines() {
                assert!(!line.starts_with("import ") && !line.contains(" from '."), "{name}: {line}");
            }
            for thing in things {
                assert_eq!(module.matches(thing).count(), 1, "{name}: {thing}");
            }
        }
    }

    #[test]
    fn desk_imports_the_browser_module_alone() {
        let module = joined("desk/desk.js");
        let imports: Vec<_> = module.lines().filter(|line| line.contains(" from '")).collect();
        assert_eq!(imports, ["import { Intray } from '../client.js'"]);
        assert_eq!(module.matches("\nfunction shown(").count(), 1);
        assert!(!module.contains("@param") && !module.contains("\n//"), "comments are left out");
        assert!(module.contains("'https://'"), "texts are not");
    }

    #[test]
    fn lines_with_code_are_no_comments() {
        for line in ["// a", "/** a */", "/**", "* a", "*", "*/", "*/ // b"] {
            assert!(is_comment(line), "{line}");
        }
        for line in ["/** @type {any} */ (a)", "a // b", "a * b", "/x/.test(a)", "*a", ""] {
            assert!(!is_comment(line), "{line}");
        }
    }

    #[test]
    fn module_of_a_release_is_joined_once() {
        for (module, name) in JOINED.iter().zip(MODULES) {
            let now = made_module(name);
            assert_eq!((&module.data, module.hash, module.kind), (&now.data, now.hash, now.kind));
            assert_eq!(module.data.as_ptr(), module.clone().data.as_ptr());
        }
    }
}
