//! How a list is wanted.

use axum::http::{HeaderMap, header};

use crate::http::request::lines::NDJSON;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page of it.
    Page,
    Lines,
    Table,
}

impl Kind {
    /// What the caller likes best of what there is; of two that they like alike, the one they name first. Who names none of
    /// it has a page.
    pub fn wanted(headers: &HeaderMap) -> Self {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut best = (Self::Page, 0.0);
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
                NDJSON => Self::Lines,
                "text/csv" => Self::Table,
                "application/json" | "application/*" | "*/*" => Self::Page,
                _ => continue,
            };
            let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok()).unwrap_or(1.0);
            if weight > best.1 {
                best = (kind, weight);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_likes_lines_best_has_lines() {
        for (accept, kind) in [
            (&[][..], Kind::Page),
            (&["*/*"], Kind::Page),
            (&["text/html, */*;q=0.8"], Kind::Page),
            (&["application/x-ndjson"], Kind::Lines),
            (&["Application/X-NDJSON; charset=utf-8"], Kind::Lines),
            (&["text/csv"], Kind::Table),
            (&["application/json, text/csv"], Kind::Page),
            (&["application/json;q=0.5, text/csv;q=0.6"], Kind::Table),
            (&["*/*;q=0.1", "application/x-ndjson"], Kind::Lines),
            (&["text/csv;q=0"], Kind::Page),
        ] {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(header::ACCEPT, value.parse().expect("a header"));
            }
            assert_eq!(Kind::wanted(&headers), kind, "{accept:?}");
        }
    }
}
