//! Every metric is documented.

use intray_metrics::{ALL, MetricDescription};

use super::{
    pages,
    tree::{self, read},
};

#[test]
fn every_metric_of_the_table_is_recorded_under_its_name() {
    let sources: Vec<_> = tree::sources().iter().flat_map(|folder| tree::files(folder, &["rs"])).collect();
    for metric in ALL {
        let id = metric.name.strip_prefix("intray_").unwrap_or(metric.name).to_uppercase();
        let is_recorded = ["of", "create"].map(|method| format!("{id}.{method}("));
        let is_recorded = sources.iter().any(|(_, text)| is_recorded.iter().any(|call| text.contains(call)));
        assert!(is_recorded, "nothing records {}", metric.name);
    }
}

#[test]
fn documents_list_every_metric() {
    let rows = pages::table("| metric | type | labels | says |");
    let labels = |labels: &[&str]| labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
    let row =
        |f: &MetricDescription| format!("| `{}` | {} | {} | {} |", f.name, f.kind.word(), labels(f.labels), f.help);
    let wanted: Vec<_> = ALL.iter().map(|figure| row(figure).replace("|  |", "| |")).collect();
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
