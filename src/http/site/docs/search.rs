//! The search index.

use pulldown_cmark::{Event, HeadingLevel, Tag};
use serde_json::{Value, json};

use super::{outline, page};

/// All sections as JSON: page, its title, anchor, heading, text.
pub(super) fn index(pages: &[(String, String)]) -> String {
    let mut all = Vec::new();
    for (name, text) in pages {
        let (title, events) = (page::title(text), page::events(text));
        let begins = |event: &Event<'_>| matches!(event, Event::Start(Tag::Heading { .. }));
        for section in events.chunk_by(|_, next| !begins(next)) {
            let (anchor, heading) = match &section[0] {
                Event::Start(Tag::Heading { level, id: Some(id), .. }) if *level != HeadingLevel::H1 => {
                    (id.to_string(), outline::heading(section))
                }
                _ => (String::new(), String::new()),
            };
            let body = section.iter().skip_while(|event| begins(&section[0]) && !outline::ends(event));
            all.push(json!([name, title, anchor, heading, outline::text(body)]));
        }
    }
    Value::from(all).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_index_has_each_section_with_its_text() {
        let page = "# T\n\nFirst *words*\nof it.\n\n## A `b`\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n### C\n";
        let index: Value = serde_json::from_str(&index(&[("p".to_owned(), page.to_owned())])).expect("JSON");
        let expected = json!([
            ["p", "T", "", "", "First words of it."],
            ["p", "T", "a-b", "A b", "x y 1 2"],
            ["p", "T", "c", "C", ""]
        ]);
        assert_eq!(index, expected);
    }
}
