//! The headings of a page with their anchors, and the text below each.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Tag, TagEnd};

pub(super) struct PageHeading {
    pub level: HeadingLevel,
    pub name: String,
    pub text: String,
}

/// Anchors of headings, as links name them.
pub(super) fn anchored(mut events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    for at in 0..events.len() {
        let Event::Start(Tag::Heading { level, id: None, .. }) = &events[at] else { continue };
        let (level, name): (HeadingLevel, _) = (*level, anchor(&heading(&events[at..])));
        events[at] =
            Event::Start(Tag::Heading { level, id: Some(name.into()), classes: Vec::new(), attrs: Vec::new() });
    }
    events
}

/// The headings below the title.
pub(super) fn of(events: &[Event<'_>]) -> Vec<PageHeading> {
    let found = events.iter().enumerate().filter_map(|(at, event)| match event {
        Event::Start(Tag::Heading { level, id: Some(name), .. }) if *level != HeadingLevel::H1 => {
            Some(PageHeading { level: *level, name: name.to_string(), text: heading(&events[at..]) })
        }
        _ => None,
    });
    found.collect()
}

pub(super) fn ends(event: &Event<'_>) -> bool {
    matches!(event, Event::End(TagEnd::Heading(_)))
}

/// The text of the heading at the start of these events.
pub(super) fn heading(events: &[Event<'_>]) -> String {
    let words = events.iter().take_while(|event| !ends(event)).filter_map(text_of);
    words.map(CowStr::as_ref).collect()
}

fn text_of<'e>(event: &'e Event<'_>) -> Option<&'e CowStr<'e>> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    }
}

/// Plain text, with a blank between cells, lines and paragraphs.
pub(super) fn text<'e>(events: impl Iterator<Item = &'e Event<'e>>) -> String {
    let mut text = String::new();
    for event in events {
        match (text_of(event), event) {
            (Some(word), _) => text.push_str(word),
            (None, Event::SoftBreak | Event::HardBreak | Event::End(_)) => text.push(' '),
            (None, _) => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn anchor(heading: &str) -> String {
    let kept =
        |c: char| if c == ' ' { Some('-') } else { (c.is_alphanumeric() || c == '-').then(|| c.to_ascii_lowercase()) };
    heading.chars().filter_map(kept).collect()
}
