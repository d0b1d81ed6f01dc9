//! Every metric is documented.

use std::collections::BTreeSet;

use intray::figures;

use super::{
    pages,
    tree::{self, read},
};

#[test]
fn every_metric_in_the_code_is_described() {
    let sources: Vec<_> = tree::sources().iter().flat_map(|folder| tree::files(folder, &["rs"])).collect();
    let mut counted = BTreeSet::new();
    for kind in ["counter", "gauge", "histogram"] {
        for (_, text) in &sources {
            let (recorded, of_a_family) = (format!(" metrics::{kind}!("), format!("family::{kind}("));
            for rest in text.split(&recorded).skip(1).chain(text.split(&of_a_family).skip(1)) {
                let name = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
                let name = name.unwrap_or_else(|| panic!("the name of a {kind} cannot be found: {:.60}", rest));
                counted.insert((name.to_owned(), kind));
            }
        }
    }
    let described: BTreeSet<_> = figures::ALL.iter().map(|f| (f.name.to_owned(), f.kind.word())).collect();
    assert_eq!(described, counted);
}

#[test]
fn documents_list_every_metric() {
    let rows = pages::table("| metric | type | labels | says |");
    let labels = |labels: &[&str]| labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
    let row = |f: &figures::Metric| format!("| `{}` | {} | {} | {} |", f.name, f.kind.word(), labels(f.labels), f.help);
    let wanted: Vec<_> = figures::ALL.iter().map(|figure| row(figure).replace("|  |", "| |")).collect();
    assert_eq!(rows[..rows.len().saturating_sub(1)], wanted);
    assert!(rows.last().is_some_and(|row| row.starts_with("| `process_*` |")), "metrics of the process are last");
}

#[test]
fn benchmark_page_names_its_command_and_its_plots() {
    let (page, readme) = (read("docs/figures.md"), read("README.md"));
    assert!(page.contains("Written by `make bench"), "the page names the command that measures");
    assert!(read("Makefile").contains("\nbench:"));
    assert!(readme.contains("[`docs/figures.md`](docs/figures.md)"), "the README points there");
    for mark in ["<!-- from make bench -->\n", "<!-- end of what make bench wrote -->\n"] {
        assert_eq!(readme.matches(mark).count(), 1, "the bench writes between {mark}");
    }
    let shown = page.split("](figures/").skip(1).filter_map(|rest| rest.split(')').next());
    for curve in shown {
        assert!(tree::root().join("docs/figures").join(curve).exists(), "{curve} does not exist");
    }
}
