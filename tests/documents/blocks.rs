//! Every code block of a page is run by a test, or there is a reason why not.

use std::process::Command;

use super::{pages, tree::read};

/// Pages whose blocks of a language are all run, with the test that runs them. That file names the page.
const RUN: &[(&str, &str, &str)] = &[
    ("README.md", "sh", "tests/service/program/documented_calls.rs"),
    ("README.md", "js", "tests/packages/npm/frameworks.test.js"),
    ("docs/tour.md", "sh", "tests/service/program/documented_calls.rs"),
    ("docs/start.md", "sh", "tests/service/program/documented_calls.rs"),
    ("docs/start.md", "python", "tests/service/program/documented_calls.rs"),
    ("docs/start.md", "html", "tests/packages/npm/guarded.test.js"),
    ("docs/forms.md", "json", "tests/documents/forms.rs"),
    ("docs/bulk.md", "sh", "tests/service/program/documented_calls.rs"),
    ("docs/backup.md", "sh", "tests/service/program/backup.rs"),
    ("docs/webhooks.md", "sh", "tests/service/program/documented_calls.rs"),
    ("docs/webhooks.md", "python", "tests/packages/python/test_receivers.py"),
    ("docs/webhooks.md", "js", "tests/packages/python/test_receivers.py"),
    ("docs/routing.md", "sh", "tests/service/program/documented_calls.rs"),
    ("docs/opinions.md", "sh", "tests/service/program/documented_calls.rs"),
    ("docs/opinions.md", "python", "tests/packages/python/test_opinions.py"),
    ("docs/lead.md", "sh", "tests/service/program/lead_page.rs"),
    ("docs/lead.md", "csv", "tests/service/program/lead_page.rs"),
    ("docs/quality.md", "sh", "tests/service/program/quality_page.rs"),
    ("docs/quality.md", "python", "tests/service/program/quality_page.rs"),
    ("docs/ask.md", "sh", "tests/packages/python/test_ask_page.py"),
    ("docs/ask.md", "python", "tests/packages/python/test_ask_page.py"),
    ("docs/desk.md", "sh", "tests/service/program/documented_calls.rs"),
    ("docs/desk.md", "js", "tests/web/desk/token.test.js"),
    ("docs/browser.md", "js", "tests/packages/npm/frameworks.test.js"),
    ("docs/browser.md", "html", "tests/packages/npm/shop.js"),
    ("docs/browser.md", "tsx", "tests/packages/npm/shop.js"),
    ("docs/browser.md", "vue", "tests/packages/npm/shop.js"),
    ("docs/clients.md", "python", "tests/packages/python/examples.py"),
    ("docs/clients.md", "yaml", "tests/contract/run.sh"),
    ("web/client/README.md", "html", "tests/web/world/pages.js"),
    ("web/client/README.md", "js", "tests/packages/npm/frameworks.test.js"),
];

/// Single blocks of a page, by words of their first line, with their test or the reason why there is none.
const SINGLE: &[(&str, &str, &str)] = &[
    (
        "README.md",
        "sudo apt-get install",
        "tests/release/ and tests/image.sh do each; stories start what `make test` builds",
    ),
    ("README.md", "make test", "it is what runs this"),
    ("docs/start.md", "tar -xzf", "a release is built for it; tests/release/files.sh unpacks it"),
    ("docs/start.md", "intray serve", "tests/service/program/documented_calls.rs starts it with these flags"),
    ("docs/bulk.md", "curl -sSN", "it has no end; tests/service/queues/list_export.rs follows, with its own clock"),
    ("docs/bulk.md", "intray import", "its flags are tried below; tests/service/program/bulk.rs carries files"),
    ("docs/bulk.md", "intray export", "its flags are tried below; tests/service/program/import.rs goes there and back"),
    ("docs/browser.md", "npm create", "tests/packages/npm/ builds the same with versions that stand fast"),
    ("docs/browser.md", "npm init", "tests/packages/npm/ installs the same, in versions that stand fast"),
    ("docs/alerts.md", "ask()", "tests/service/program/documented_calls.rs"),
    (
        "docs/move.md",
        "for port in",
        "it starts servers at ports that may be in use; tests/service/store/moving/ has a cluster",
    ),
    ("docs/move.md", "intray check", "its flags are tried below; tests/service/store/moving/ moves"),
    ("docs/move.md", "intray move", "its flags are tried below; tests/service/store/moving/ moves"),
    ("docs/move.md", "intray serve", "its flags are tried below; tests/service/store/cluster/ serves"),
    (
        "docs/move.md",
        "redis-cli --scan",
        "it is for a Redis of one's own; the names are those of crates/intray-store/src/upkeep/moving/keys.rs",
    ),
    (
        "docs/proof.md",
        "make history",
        "it takes minutes: CI runs it, and the targets of a Makefile are looked up below",
    ),
    ("docs/backup.md", "intray serve", "tests/service/program/backup.rs serves the restored folder"),
    ("docs/backup.md", "0 * * * *", "it is a line for cron; its command is tried above it"),
    ("docs/backup.md", "docker compose -f", "tests/service/program/backup_of_redis.rs runs what it has a container do"),
    ("docs/backup.md", "kubectl -n intray", "tests/service/program/backup_of_redis.rs runs what it has a pod do"),
    ("docs/backup.md", "valkey-cli --cluster", "tests/service/program/backup_of_redis.rs runs it"),
    ("docs/scale.md", "ACL SETUSER intray", "tests/service/store/acl_rights.rs makes that user"),
    ("docs/scale.md", "ACL SETUSER default", "tests/service/store/default_user.rs makes that user"),
    ("docs/clients.md", "mkdir -p vendor", "tests/packages/npm/vendored.test.js"),
    ("docs/deploy.md", "docker compose -f deploy/compose.yaml up", "tests/deploy/compose.py starts what it names"),
    (
        "docs/deploy.md",
        "docker compose -f deploy/compose.yaml --profile",
        "tests/deploy/compose.py starts what it names",
    ),
    ("docs/deploy.md", "mkdir deploy/secrets", "tests/deploy/proxies.py makes such files"),
    (
        "docs/deploy.md",
        "INTRAY_NAME=queue.example docker compose",
        "tests/deploy/proxies.py starts both files together",
    ),
    ("docs/deploy.md", "kubectl -n intray create", "it needs a cluster; tests/deploy/kubernetes.py reads the files"),
    ("docs/deploy.md", "kubectl create", "it needs a cluster; tests/deploy/kubernetes.py reads the files"),
    ("docs/deploy.md", "apt-get install", "it is for root; tests/release/install.sh installs the package"),
    (
        "docs/deploy.md",
        "cd intray-",
        "it is for root; tests/release/files.sh unpacks the files, tests/deploy/units.py reads the unit",
    ),
    ("docs/webhooks.md", "intray serve", "tests/service/program/documented_calls.rs starts it with this file"),
    ("docs/webhooks.md", "shop   https", "tests/service/program/webhooks_file.rs reads such lines"),
    (
        "docs/webhooks.md",
        "POST /intray",
        "openapi.yaml has this body, and tests/packages/webhook_vectors.json such headers",
    ),
    ("docs/webhooks.md", "intray webhook audit", "its arguments are tried below"),
    ("docs/operate.md", "intray key pay-app", "their arguments are tried below"),
    ("docs/operate.md", "QUEUE", "what a table looks like: tests/service/program/top.rs"),
    ("docs/protocol.md", "due", "a picture"),
    ("web/client/README.md", "intray --cors-origin", "it takes ports that may be in use; its flag is tried below"),
    ("web/client/README.md", "mkdir -p vendor", "tests/packages/npm/vendored.test.js"),
    ("lua/README.md", "transitions/", "a picture"),
    ("docs/release.md", "sha256sum", "tests/release/files.sh checks the sums"),
    ("docs/release.md", "make dist", "a release takes too long to build: tests/release/ tries what it makes"),
    ("CONTRIBUTING.md", "make test", "the targets of a Makefile are looked up below"),
];

struct Block {
    page: String,
    language: String,
    lines: Vec<String>,
}

impl Block {
    fn first(&self) -> &str {
        self.lines.first().map_or("", |line| line.trim())
    }
}

/// The blocks of all pages; in a list they are indented.
fn blocks() -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    for (page, text) in pages::all() {
        let mut is_inside = false;
        for line in text.lines() {
            match line.trim_start().strip_prefix("```") {
                Some(_) if is_inside => is_inside = false,
                Some(language) => {
                    is_inside = true;
                    found.push(Block { page: page.clone(), language: language.to_owned(), lines: Vec::new() });
                }
                None if is_inside => found.last_mut().into_iter().for_each(|block| block.lines.push(line.to_owned())),
                None => {}
            }
        }
    }
    found
}

fn is_run(block: &Block) -> impl Fn(&&(&str, &str, &str)) -> bool {
    |(page, language, _)| *page == block.page && *language == block.language
}

fn is_single(block: &Block) -> impl Fn(&&(&str, &str, &str)) -> bool {
    |(page, first, _)| *page == block.page && block.first().starts_with(first)
}

#[test]
fn every_block_is_run_or_has_a_reason() {
    let blocks = blocks();
    assert!(blocks.len() > 50, "{} blocks", blocks.len());
    for block in &blocks {
        let known = RUN.iter().find(is_run(block)).or_else(|| SINGLE.iter().find(is_single(block)));
        assert!(known.is_some(), "no test runs the block of {} that begins with {:?}", block.page, block.first());
    }
    for (page, what, _) in RUN.iter().chain(SINGLE) {
        let is_there = blocks.iter().any(|b| b.page == *page && (b.language == *what || b.first().starts_with(what)));
        assert!(is_there, "{page} has no block {what}");
    }
}

#[test]
fn test_that_runs_a_page_names_it() {
    for (page, _, runner) in RUN {
        let name = page.rsplit('/').next().unwrap_or_default();
        assert!(read(runner).contains(name), "{runner} does not run {page}");
    }
}

/// Finds flags that were removed, and commands that were renamed.
#[test]
fn printed_commands_are_accepted_by_the_program() {
    let mut tried = 0;
    for block in blocks() {
        for line in block.lines.iter().filter_map(|line| line.trim().strip_prefix("intray ")) {
            let words = line.split(['#', '&', '>', '|', ';']).next().unwrap_or_default();
            let words = words.split_whitespace().map(|word| word.trim_matches('\''));
            let help = Command::new(env!("CARGO_BIN_EXE_intray")).args(words).arg("--help").output().expect("it runs");
            let output = String::from_utf8_lossy(&help.stderr);
            for wrong in ["unexpected argument", "unrecognized subcommand", "invalid value"] {
                assert!(!output.contains(wrong), "{}: intray {line}: {output}", block.page);
            }
            tried += 1;
        }
    }
    assert!(tried > 8, "{tried} commands");
}

#[test]
fn printed_make_targets_exist() {
    let makefile = read("Makefile");
    for block in blocks() {
        for line in block.lines.iter().filter_map(|line| line.trim().strip_prefix("make ")) {
            let target = line.split_whitespace().next().unwrap_or_default();
            let is_there = makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
            assert!(is_there, "{}: make {target}", block.page);
        }
    }
}
