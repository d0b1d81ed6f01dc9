//! Rewrites links to what is served here.

use pulldown_cmark::{Event, Tag, TagEnd};
use rust_embed::RustEmbed;

/// Embedded in a release, read again for each request in a debug build.
#[derive(RustEmbed)]
#[folder = "docs/"]
pub(super) struct Docs;

/// Served files outside `docs/`, as the repository names them and as a page links them.
const NEXT_TO_DOCS: [(&str, &str); 2] = [("openapi.yaml", "../openapi.yaml"), (MODULE, "module")];

/// The README of the browser module lies next to its source.
const MODULE: &str = "web/client/README.md";

/// Keeps links to served files; others in the repository become text.
pub(super) fn led(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
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

/// The served address of a link.
pub(super) fn target(link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with('#') {
        return Some(link.to_owned());
    }
    let name = link.trim_start_matches("../").trim_start_matches("docs/");
    if let Some((_, here)) = NEXT_TO_DOCS.iter().find(|(there, _)| *there == name) {
        return Some((*here).to_owned());
    }
    let (file, heading) = name.split_once('#').map_or((name, None), |(file, heading)| (file, Some(heading)));
    Docs::get(file)?;
    let page = file.trim_end_matches(".md");
    Some(heading.map_or_else(|| page.to_owned(), |heading| format!("{page}#{heading}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_only_to_served_files() {
        assert_eq!(target("docs/tour.md").as_deref(), Some("tour"));
        assert_eq!(target("scale.md#sentinel").as_deref(), Some("scale#sentinel"));
        assert_eq!(target("docs/desk.png").as_deref(), Some("desk.png"));
        assert_eq!(target("../openapi.yaml").as_deref(), Some("../openapi.yaml"));
        assert_eq!(target("#access").as_deref(), Some("#access"));
        assert_eq!(target("../lua"), None);
        assert_eq!(target("CONTRIBUTING.md"), None);
    }
}
