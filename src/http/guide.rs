//! The pages under `docs/` as a browser shows them, with the README in front. What is written once is read in an editor, at
//! a forge and here.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use bytes::Bytes;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use rust_embed::RustEmbed;

use crate::sha256::{Hash, Sha256};

/// A release carries them; a debug build reads them anew each time.
#[derive(RustEmbed)]
#[folder = "docs/"]
#[include = "*.md"]
#[include = "*.png"]
#[include = "figures/*.svg"]
struct Docs;

/// What is beside the pages and served too, as the root names it and as a page here does.
const BESIDE: [(&str, &str); 2] = [("openapi.yaml", "../openapi.yaml"), (MODULE, "module")];

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
    let names = files.chain(["", "module"].map(str::to_owned));
    names.filter_map(|name| make(&name).map(|made| (name, made))).collect()
});

/// What a name in the folder stands for. The README has no name.
pub fn find(name: &str) -> Option<Made> {
    if cfg!(debug_assertions) { make(name) } else { ALL.get(name).cloned() }
}

fn make(name: &str) -> Option<Made> {
    let (data, kind) = match (name, markdown(name)) {
        ("", _) => (shown(readme()), HTML),
        (_, Some(page)) => (shown(&page), HTML),
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

const HTML: &str = "text/html; charset=utf-8";

fn readme() -> &'static str {
    include_str!("../../README.md")
}

/// The page of the browser module stands beside its parts.
const MODULE: &str = "web/client/README.md";

fn markdown(name: &str) -> Option<String> {
    if name == "module" {
        return Some(include_str!("../../web/client/README.md").to_owned());
    }
    let file = Docs::get(&format!("{name}.md"))?;
    Some(String::from_utf8_lossy(&file.data).into_owned())
}

fn shown(page: &str) -> Bytes {
    let (title, body) = (page.lines().next().unwrap_or_default().trim_start_matches("# "), as_html(page));
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  <title>{title}</title>\n  \
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n  \
         <meta name=\"color-scheme\" content=\"light dark\">\n  <link rel=\"icon\" href=\"../console/icon.svg\">\n  \
         <link rel=\"stylesheet\" href=\"../console/base.css\">\n  <link rel=\"stylesheet\" href=\"guide.css\">\n</head>\n\
         <body>\n<nav>\n<a href=\"./\">intray</a>\n<a href=\"contract.html\">The contract</a>\n{}</nav>\n<main>\n{body}</main>\n\
         </body>\n</html>\n",
        contents()
    );
    text.into()
}

/// The pages that are served, in the order of the README's table of them.
fn contents() -> String {
    let rows = readme().lines().skip_while(|line| *line != "| page | for |").skip(2);
    let links = rows.take_while(|line| line.starts_with('|')).filter_map(|row| {
        let (said, link) = row.split_once('[')?.1.split_once("](")?;
        Some(format!("<a href=\"{}\">{said}</a>\n", target(link.split_once(')')?.0)?))
    });
    links.collect()
}

fn as_html(page: &str) -> String {
    let events = Parser::new_ext(page, Options::ENABLE_TABLES).filter(|event| !matches!(event, Event::Html(_)));
    let mut text = String::new();
    html::push_html(&mut text, anchored(led(events.collect())).into_iter());
    // A page's policy lets no attribute style it.
    text.replace(" style=\"text-align: right\"", " class=\"n\"").replace(" style=\"text-align: left\"", "")
}

/// Links lead to what is served; one that leads elsewhere in the checkout is text.
fn led(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut open = Vec::new();
    let kept = events.into_iter().filter_map(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let target = target(&dest_url);
            open.push(target.is_some());
            target.map(|url| Event::Start(Tag::Link { link_type, dest_url: url.into(), title, id }))
        }
        Event::End(TagEnd::Link) => open.pop().unwrap_or(true).then_some(event),
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            let url = target(&dest_url).unwrap_or_default().into();
            Some(Event::Start(Tag::Image { link_type, dest_url: url, title, id }))
        }
        event => Some(event),
    });
    kept.collect()
}

/// Where a link of the README or of a page leads here.
fn target(link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with('#') {
        return Some(link.to_owned());
    }
    let name = link.trim_start_matches("../").trim_start_matches("docs/");
    if let Some((_, here)) = BESIDE.iter().find(|(there, _)| *there == name) {
        return Some((*here).to_owned());
    }
    let (file, heading) = name.split_once('#').map_or((name, None), |(file, heading)| (file, Some(heading)));
    Docs::get(file)?;
    let page = file.trim_end_matches(".md");
    Some(heading.map_or_else(|| page.to_owned(), |heading| format!("{page}#{heading}")))
}

/// Headings have the names that links call them by.
fn anchored(mut events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    for at in 0..events.len() {
        let said = events[at..].iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let Event::Start(Tag::Heading { level, id: None, .. }) = &events[at] else { continue };
        let (level, name): (HeadingLevel, _) = (*level, anchor(said));
        events[at] =
            Event::Start(Tag::Heading { level, id: Some(name.into()), classes: Vec::new(), attrs: Vec::new() });
    }
    events
}

fn anchor<'e>(said: impl Iterator<Item = &'e Event<'e>>) -> String {
    let words: Vec<&CowStr> = said
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text),
            _ => None,
        })
        .collect();
    let letters = words.into_iter().flat_map(|word| word.chars());
    let kept =
        |c: char| if c == ' ' { Some('-') } else { (c.is_alphanumeric() || c == '-').then(|| c.to_ascii_lowercase()) };
    letters.filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_what_is_served_and_to_nothing_else() {
        assert_eq!(target("docs/tour.md").as_deref(), Some("tour"));
        assert_eq!(target("scale.md#sentinel").as_deref(), Some("scale#sentinel"));
        assert_eq!(target("docs/desk.png").as_deref(), Some("desk.png"));
        assert_eq!(target("../openapi.yaml").as_deref(), Some("../openapi.yaml"));
        assert_eq!(target("#access").as_deref(), Some("#access"));
        assert_eq!(target("../lua"), None);
        assert_eq!(target("CONTRIBUTING.md"), None);
    }

    #[test]
    fn a_heading_has_the_name_that_links_call_it_by() {
        let page = as_html("# T\n\n## When a `change` is acknowledged, then\n\n[x](../lua/README.md) <!-- y -->\n");
        assert!(page.contains("<h2 id=\"when-a-change-is-acknowledged-then\">"), "{page}");
        assert!(!page.contains("<a"), "{page}");
    }

    #[test]
    fn a_page_is_made_once_and_then_only_handed_out() {
        let tour = &ALL["tour"];
        assert_eq!(ALL["tour"].data.as_ptr(), tour.clone().data.as_ptr());
        for name in ["", "module", "tour", "desk.png", "figures/clients.svg"] {
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
