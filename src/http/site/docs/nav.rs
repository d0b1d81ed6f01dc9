//! Navigation: all pages in the groups of the README's list, and the headings of the current page.

use pulldown_cmark::HeadingLevel;

use super::{links::target, outline::PageHeading};

/// The README's list of pages.
const LIST: &str = "## Read on";
/// The viewer of the contract.
const READER: &str = "contract.html";
/// Pages with this many headings get a table of contents.
const SEVERAL: usize = 3;

pub(super) struct Group {
    name: String,
    /// Titles and addresses.
    pub pages: Vec<(String, String)>,
}

/// The served pages, as the README groups them.
pub(super) fn listed(readme: &str) -> Vec<Group> {
    let lines = readme.lines().skip_while(|line| *line != LIST).skip(1).take_while(|line| !line.starts_with("## "));
    let mut groups: Vec<Group> = Vec::new();
    for line in lines {
        if let Some(name) = line.strip_prefix("### ") {
            groups.push(Group { name: name.to_owned(), pages: Vec::new() });
        } else if let (Some(page), Some(group)) = (row(line), groups.last_mut()) {
            group.pages.push(page);
        }
    }
    groups.retain(|group| !group.pages.is_empty());
    groups
}

/// `| [name](file) | what for |`, if the file is served.
fn row(line: &str) -> Option<(String, String)> {
    let (name, link) = line.strip_prefix("| [")?.split_once("](")?;
    let page = target(link.split_once(')')?.0)?;
    Some((name.to_owned(), if page.ends_with(".yaml") { READER.to_owned() } else { page }))
}

pub(super) fn groups(readme: &str, current: &str) -> String {
    let mut text = "<nav id=\"pages\" aria-label=\"Pages\">\n".to_owned();
    for Group { name, pages } in listed(readme) {
        text += &format!("<h2>{name}</h2>\n<ul>\n");
        for (name, page) in pages {
            let mark = if page == current { " aria-current=\"page\"" } else { "" };
            text += &format!("<li><a href=\"{page}\"{mark}>{name}</a></li>\n");
        }
        text += "</ul>\n";
    }
    text + "</nav>\n"
}

pub(super) fn contents(headings: &[PageHeading]) -> String {
    let is_long = headings.len() > 4 * SEVERAL;
    let listed: Vec<_> = headings.iter().filter(|heading| !is_long || heading.level == HeadingLevel::H2).collect();
    if listed.len() < SEVERAL {
        return String::new();
    }
    let entry = |heading: &&PageHeading| {
        let class = if heading.level == HeadingLevel::H2 { "" } else { " class=\"below\"" };
        format!("<li{class}><a href=\"#{}\">{}</a></li>\n", heading.name, escaped(&heading.text))
    };
    let entries: String = listed.iter().map(entry).collect();
    format!("<details class=\"contents\">\n<summary>On this page</summary>\n<ul>\n{entries}</ul>\n</details>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "# T\n\n| [x](docs/tour.md) | y |\n\n## Read on\n\n### A\n\n| page | for |\n|---|---|\n\
        | [Tour](docs/tour.md) | y |\n\n### B\n\n| [Not served](CONTRIBUTING.md) | y |\n\n## Else\n\n### C\n";

    #[test]
    fn pages_are_grouped_and_the_current_one_is_marked() {
        let text = groups(README, "tour");
        assert!(
            text.contains("<h2>A</h2>") && text.contains("<a href=\"tour\" aria-current=\"page\">Tour</a>"),
            "{text}"
        );
        assert!(!text.contains("<h2>B</h2>") && !text.contains("<h2>C</h2>"), "{text}");
        assert!(!groups(README, "start").contains("aria-current"));
    }
}
