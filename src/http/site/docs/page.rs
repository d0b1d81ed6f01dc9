//! Renders a page of Markdown.

use pulldown_cmark::{Event, Options, Parser, html};

use super::{links::led, outline};

pub(super) fn title(page: &str) -> &str {
    page.lines().next().unwrap_or_default().trim_start_matches("# ")
}

pub(super) fn events(page: &str) -> Vec<Event<'_>> {
    let events = Parser::new_ext(page, Options::ENABLE_TABLES).filter(|event| !matches!(event, Event::Html(_)));
    outline::anchored(led(events.collect()))
}

pub(super) fn as_html(events: Vec<Event<'_>>) -> String {
    let mut text = String::new();
    html::push_html(&mut text, events.into_iter());
    // The content policy forbids style attributes.
    text.replace(" style=\"text-align: right\"", " class=\"n\"").replace(" style=\"text-align: left\"", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_anchor_matches_links() {
        let page =
            as_html(events("# T\n\n## When a `change` is acknowledged, then\n\n[x](../lua/README.md) <!-- y -->\n"));
        assert!(page.contains("<h2 id=\"when-a-change-is-acknowledged-then\">"), "{page}");
        assert!(!page.contains("<a"), "{page}");
    }
}
