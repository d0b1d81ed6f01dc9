//! The documents match the program: flags, problems, routes, module boundaries.

#[path = "documents/blocks.rs"]
mod blocks;
#[path = "documents/commit.rs"]
mod commit;
#[path = "documents/duplicates.rs"]
mod duplicates;
#[path = "documents/figures.rs"]
mod figures;
#[path = "documents/forms.rs"]
mod forms;
#[path = "documents/imports.rs"]
mod imports;
#[path = "documents/language.rs"]
mod language;
#[path = "documents/lua.rs"]
mod lua;
#[path = "documents/meanings.rs"]
mod meanings;
#[path = "documents/packages.rs"]
mod packages;
#[path = "documents/pages.rs"]
mod pages;
#[path = "documents/paths.rs"]
mod paths;
#[path = "documents/planted.rs"]
mod planted;
#[path = "documents/protocol.rs"]
mod protocol;
#[path = "documents/release.rs"]
mod release;
#[path = "documents/rotation.rs"]
mod rotation;
#[path = "documents/routes.rs"]
mod routes;
#[path = "documents/sizes.rs"]
mod sizes;
#[path = "documents/topologies.rs"]
mod topologies;
#[path = "documents/tree.rs"]
mod tree;
#[path = "documents/walls.rs"]
mod walls;
#[path = "documents/words.rs"]
mod words;

use std::{collections::BTreeSet, path::Path, process::Command};

use tree::read;

/// `--flag` and `ENVIRONMENT` of each table row.
fn flags_in_documents() -> BTreeSet<(String, String)> {
    let ticked = |cell: &str| cell.split('`').nth(1).unwrap_or_default().to_owned();
    let rows = pages::table("| flag | environment | default |");
    let flags = rows.iter().map(|row| {
        let mut cells = row.split('|').skip(1);
        (ticked(cells.next().unwrap_or_default()), ticked(cells.next().unwrap_or_default()))
    });
    flags.collect()
}

#[test]
fn documents_list_every_flag_of_the_program() {
    let help = Command::new(env!("CARGO_BIN_EXE_intray")).args(["serve", "--help"]).output().expect("help");
    let help = String::from_utf8(help.stdout).expect("text");
    let (mut flags, mut flag) = (BTreeSet::new(), String::new());
    for line in help.lines() {
        if let Some(name) = line.trim_start().strip_prefix("--") {
            flag = format!("--{}", name.split_whitespace().next().unwrap_or_default());
        }
        if let Some((_, name)) = line.split_once("[env: ") {
            let name = name.split(['=', ']']).next().unwrap_or_default();
            flags.insert((flag.clone(), name.to_owned()));
        }
    }
    assert_eq!(flags, flags_in_documents());
}

#[test]
fn documents_list_every_flag_of_client_commands() {
    let help = Command::new(env!("CARGO_BIN_EXE_intray")).args(["top", "--help"]).output().expect("help");
    let help = String::from_utf8(help.stdout).expect("text");
    let flag = |line: &str| Some(format!("--{}", line.trim_start().strip_prefix("--")?.split(' ').next()?));
    let flags: BTreeSet<_> = help.lines().filter_map(flag).collect();
    let rows = pages::table("| flag | environment | |");
    let listed: BTreeSet<_> = rows.iter().filter_map(|row| row.split('`').nth(1)).map(str::to_owned).collect();
    assert_eq!(listed, flags);
}

#[test]
fn documents_list_every_command() {
    let help = Command::new(env!("CARGO_BIN_EXE_intray")).arg("--help").output().expect("help");
    let help = String::from_utf8(help.stdout).expect("text");
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: BTreeSet<_> =
        lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    let rows = pages::table("| command | does |");
    let listed = rows.iter().filter_map(|row| row.split("`intray ").nth(1)?.split([' ', '`']).next());
    assert_eq!(listed.collect::<BTreeSet<_>>(), commands);
}

#[test]
fn documents_list_every_problem() {
    let contract = read("openapi.yaml");
    let in_contract: BTreeSet<_> = contract
        .split("/problems/")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect::<String>())
        .filter(|slug| !slug.is_empty())
        .collect();
    let rows = pages::table("| problem | status | says |");
    let listed: BTreeSet<_> = rows.iter().map(|row| row.split('`').nth(1).unwrap_or_default().to_owned()).collect();
    assert_eq!(listed, in_contract);
}

#[test]
fn tests_named_in_documents_exist() {
    let mut checked = 0;
    for row in pages::table("| seed | what it asked | the call | the story |") {
        let story = row.split('|').nth(4).unwrap_or_default().trim().trim_matches('`');
        assert!(!story.is_empty() || row.contains("not yet") || row.contains("figures"), "no test shows {row}");
        if let Some((file, name)) = story.rsplit_once("::") {
            let stories = read(&format!("tests/service/{}.rs", file.replace("::", "/")));
            assert!(stories.contains(&format!("fn {name}(")), "no test is called {story}");
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} tests");
}

/// The targets of a document's links and pictures, without those on the web.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).collect()
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept =
        |c: char| if c == ' ' { Some('-') } else { (c.is_alphanumeric() || c == '-').then(|| c.to_ascii_lowercase()) };
    heading.trim_start_matches('#').trim().chars().filter_map(kept).collect()
}

#[test]
fn links_in_documents_resolve() {
    for (document, text) in pages::all() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(&document);
        for target in links(&text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { here.clone() } else { here.with_file_name("").join(file) };
            assert!(path.exists(), "{document} leads to {target}");
            if !heading.is_empty() {
                let there = std::fs::read_to_string(&path).expect("a page");
                let has = there.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
                assert!(has, "{document} leads to {target}, and the heading does not exist");
            }
        }
    }
}

#[test]
fn readme_is_short_and_links_every_page() {
    let readme = read("README.md");
    let lines = readme.lines().count();
    assert!(lines <= 200, "{lines} lines: move text to a page under docs/");
    for (page, _) in tree::files("docs", &["md"]) {
        assert!(readme.contains(&format!("({page})")), "the README does not link {page}");
    }
}
