//! The pages under `docs/` as a browser shows them, with the README in front. What is written once is read in an editor, at
//! a forge and here.

mod links;
mod nav;
mod outline;
mod page;
mod search;

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use bytes::Bytes;

use self::links::Docs;
use crate::sha256::{Hash, Sha256};

/// A page made of Markdown, or a picture, as it is sent.
#[derive(Clone)]
pub struct Made {
    pub data: Bytes,
    pub kind: &'static str,
    /// What it is known again by.
    pub hash: Hash,
}

/// What a release carries stays as it is, so all of it is made once, when somebody first asks.
static ALL: LazyLock<BTreeMap<String, Made>> = LazyLock::new(|| {
    let files = Docs::iter().map(|file| file.trim_end_matches(".md").to_owned());
    let names = files.chain(["", "module", SEARCHED].map(str::to_owned));
    names.filter_map(|name| make(&name).map(|made| (name, made))).collect()
});

/// What a name in the folder stands for. The README has no name.
pub fn find(name: &str) -> Option<Made> {
    if cfg!(debug_assertions) { make(name) } else { ALL.get(name).cloned() }
}

fn make(name: &str) -> Option<Made> {
    let (data, kind) = match (name, markdown(name)) {
        ("", _) => (shown("", readme()), HTML),
        (SEARCHED, _) => (search::index(&pages()).into(), "application/json"),
        (_, Some(page)) => (shown(name, &page), HTML),
        (_, None) => (picture(name)?, if name.ends_with(".png") { "image/png" } else { "image/svg+xml" }),
    };
    let hash = Sha256::digest(&data);
    Some(Made { data, kind, hash })
}

fn picture(name: &str) -> Option<Bytes> {
    let is_picture = [".png", ".svg"].iter().any(|end| name.ends_with(end));
    match Docs::get(name).filter(|_| is_picture)?.data {
        Cow::Borrowed(data) => Some(Bytes::from_static(data)),
        Cow::Owned(data) => Some(data.into()),
    }
}

/// What a search looks through: every section of every page.
const SEARCHED: &str = "search.json";
const HTML: &str = "text/html; charset=utf-8";

fn readme() -> &'static str {
    include_str!("../../../README.md")
}

fn markdown(name: &str) -> Option<String> {
    if name == "module" {
        return Some(include_str!("../../../web/client/README.md").to_owned());
    }
    let file = Docs::get(&format!("{name}.md"))?;
    Some(String::from_utf8_lossy(&file.data).into_owned())
}

/// Each page by its name, with its Markdown, in the order of the README's list of them.
fn pages() -> Vec<(String, String)> {
    let listed = nav::listed(readme()).into_iter().flat_map(|group| group.pages).map(|(_, name)| name);
    let all = std::iter::once(String::new()).chain(listed);
    all.filter_map(|name| Some((name.clone(), if name.is_empty() { readme().to_owned() } else { markdown(&name)? })))
        .collect()
}

fn shown(name: &str, page: &str) -> Bytes {
    let (title, events) = (page::title(page), page::events(page));
    let (pages, contents) = (nav::groups(readme(), name), nav::contents(&outline::of(&events)));
    let body = page::as_html(events);
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  <title>{title} · intray</title>\n  \
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n  \
         <meta name=\"color-scheme\" content=\"light dark\">\n  <link rel=\"icon\" href=\"../console/icon.svg\">\n  \
         <link rel=\"stylesheet\" href=\"../console/base.css\">\n  <link rel=\"stylesheet\" href=\"guide.css\">\n  \
         {SCRIPT}\n</head>\n<body>\n<header>\n<a href=\"./\">intray</a>\n<a href=\"#pages\">All pages</a>\n</header>\n\
         {contents}<main>\n{body}</main>\n{pages}</body>\n</html>\n"
    );
    text.into()
}

/// Search and the buttons that copy. Without it a page can be read all the same.
const SCRIPT: &str = "<script defer src=\"guide.js\"></script>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_made_once_and_then_only_handed_out() {
        let tour = &ALL["tour"];
        assert_eq!(ALL["tour"].data.as_ptr(), tour.clone().data.as_ptr());
        for name in ["", "module", SEARCHED, "tour", "desk.png", "figures/clients.svg"] {
            let now = make(name).expect("it is there");
            let kept = ALL.get(name).unwrap_or_else(|| panic!("nobody made {name:?}"));
            assert_eq!((&now.data, now.kind, now.hash), (&kept.data, kept.kind, kept.hash), "{name:?}");
        }
        for file in Docs::iter() {
            assert!(ALL.contains_key(file.trim_end_matches(".md")), "nobody made {file}");
        }
    }

    #[test]
    fn nothing_outside_the_folder_can_be_named() {
        for name in ["../README", "../Cargo", "figures/../../README", "/etc/passwd", "tour.md", "figures/"] {
            assert!(make(name).is_none() && !ALL.contains_key(name), "{name}");
        }
    }
}
