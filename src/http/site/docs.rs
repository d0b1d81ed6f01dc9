//! The pages under `/docs/`, made from the Markdown that is read in an editor and at the forge too; the README comes
//! first.

mod links;
mod nav;
mod outline;
mod page;
mod search;

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use bytes::Bytes;

use self::links::Docs;
use crate::http::site::{generated::GeneratedFile, modules::HTML};

/// A release renders all pages once, at the first request.
static ALL: LazyLock<BTreeMap<String, GeneratedFile>> = LazyLock::new(|| {
    let files = Docs::iter().map(|file| file.trim_end_matches(".md").to_owned());
    let names = files.chain(["", "module", SEARCHED].map(str::to_owned));
    names.filter_map(|name| make(&name).map(|made| (name, made))).collect()
});

/// The page with a name; the README's name is empty.
pub fn find(name: &str) -> Option<GeneratedFile> {
    if cfg!(debug_assertions) { make(name) } else { ALL.get(name).cloned() }
}

fn make(name: &str) -> Option<GeneratedFile> {
    let (data, kind) = match (name, markdown(name)) {
        ("", _) => (shown("", readme()), HTML),
        (SEARCHED, _) => (search::index(&pages()).into(), "application/json"),
        (_, Some(page)) => (shown(name, &page), HTML),
        (_, None) => (picture(name)?, if name.ends_with(".png") { "image/png" } else { "image/svg+xml" }),
    };
    Some(GeneratedFile::new(data, kind))
}

fn picture(name: &str) -> Option<Bytes> {
    let is_picture = [".png", ".svg"].iter().any(|end| name.ends_with(end));
    match Docs::get(name).filter(|_| is_picture)?.data {
        Cow::Borrowed(data) => Some(Bytes::from_static(data)),
        Cow::Owned(data) => Some(data.into()),
    }
}

/// The search index: every section of every page.
const SEARCHED: &str = "search.json";

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

/// The pages with their Markdown, in the order of the README's list.
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

/// Search and copy buttons; pages can be read without it.
const SCRIPT: &str = "<script defer src=\"guide.js\"></script>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_rendered_once() {
        let tour = &ALL["tour"];
        assert_eq!(ALL["tour"].data.as_ptr(), tour.clone().data.as_ptr());
        for name in ["", "module", SEARCHED, "tour", "desk.png", "figures/clients.svg"] {
            let now = make(name).expect("it is there");
            let kept = ALL.get(name).unwrap_or_else(|| panic!("{name:?} was not rendered"));
            assert_eq!((&now.data, now.kind, now.hash), (&kept.data, kept.kind, kept.hash), "{name:?}");
        }
        for file in Docs::iter() {
            assert!(ALL.contains_key(file.trim_end_matches(".md")), "{file} was not rendered");
        }
    }

    #[test]
    fn paths_outside_the_folder_are_not_found() {
        for name in ["../README", "../Cargo", "figures/../../README", "/etc/passwd", "tour.md", "figures/"] {
            assert!(make(name).is_none() && !ALL.contains_key(name), "{name}");
        }
    }
}
