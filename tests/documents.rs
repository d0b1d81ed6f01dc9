//! What the documents say is so: flags, problems, walls between the modules.

#[path = "documents/duplicates.rs"]
mod duplicates;
#[path = "documents/figures.rs"]
mod figures;

#[path = "documents/imports.rs"]
mod imports;
#[path = "documents/lua.rs"]
mod lua;
#[path = "documents/packages.rs"]
mod packages;
#[path = "documents/paths.rs"]
mod paths;
#[path = "documents/routes.rs"]
mod routes;
#[path = "documents/sizes.rs"]
mod sizes;
#[path = "documents/tree.rs"]
mod tree;
#[path = "documents/walls.rs"]
mod walls;
#[path = "documents/words.rs"]
mod words;

use std::{collections::BTreeSet, path::Path, process::Command};

use tree::read;

/// `--flag` and `ENVIRONMENT` of each row of the README's table.
fn flags_in_readme() -> BTreeSet<(String, String)> {
    let readme = read("README.md");
    let table = readme.lines().skip_while(|line| *line != "| flag | environment | default |").skip(2);
    let ticked = |cell: &str| cell.split('`').nth(1).unwrap_or_default().to_owned();
    table
        .take_while(|line| line.starts_with('|'))
        .map(|row| {
            let mut cells = row.split('|').skip(1);
            (ticked(cells.next().unwrap_or_default()), ticked(cells.next().unwrap_or_default()))
        })
        .collect()
}

#[test]
fn the_readme_lists_the_flags_of_the_program() {
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
    assert_eq!(flags, flags_in_readme());
}

#[test]
fn the_readme_lists_the_problems_of_the_contract() {
    let contract = read("openapi.yaml");
    let in_contract: BTreeSet<_> = contract
        .split("/problems/")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect::<String>())
        .filter(|slug| !slug.is_empty())
        .collect();
    let readme = read("README.md");
    let table = readme.lines().skip_while(|line| *line != "| problem | status | says |").skip(2);
    let in_readme: BTreeSet<_> = table
        .take_while(|line| line.starts_with('|'))
        .map(|row| row.split('`').nth(1).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(in_readme, in_contract);
}

#[test]
fn the_readme_names_stories_that_are_told() {
    let readme = read("README.md");
    let table = readme.lines().skip_while(|line| *line != "| seed | what it asked | the call | the story |").skip(2);
    let mut told = 0;
    for row in table.take_while(|line| line.starts_with('|')) {
        let story = row.split('|').nth(4).unwrap_or_default().trim().trim_matches('`');
        assert!(!story.is_empty() || row.contains("not yet") || row.contains("figures"), "nothing shows {row}");
        if let Some((file, name)) = story.rsplit_once("::") {
            let stories = read(&format!("tests/service/{}.rs", file.replace("::", "/")));
            assert!(stories.contains(&format!("fn {name}(")), "nobody tells {story}");
            told += 1;
        }
    }
    assert!(told > 50, "{told} stories");
}

/// The places that a document's links and pictures lead to, those on the web left out.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#')).collect()
}

#[test]
fn links_lead_somewhere() {
    for document in [
        "README.md",
        "CONTRIBUTING.md",
        "docs/clients.md",
        "lua/README.md",
        "migrations/README.md",
        "web/client/README.md",
        "web/console/vendor/README.md",
        "web/docs/vendor/README.md",
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(document).with_file_name("");
        for target in links(&read(document)) {
            let path = folder.join(target.split('#').next().unwrap_or_default());
            assert!(path.exists(), "{document} leads to {target}");
        }
    }
}
