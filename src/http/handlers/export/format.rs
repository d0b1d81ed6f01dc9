//! The format of a list, from `Accept`.

use axum::http::{HeaderMap, header};

use crate::http::request::lines::NDJSON;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFormat {
    /// One page as JSON.
    Page,
    Lines,
    Table,
}

impl ListFormat {
    /// The supported format with the highest weight; the first of equals; a page if none is named.
    pub fn accepted(headers: &HeaderMap) -> Self {
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
    fn accept_weights_choose_the_format() {
        for (accept, kind) in [
            (&[][..], ListFormat::Page),
            (&["*/*"], ListFormat::Page),
            (&["text/html, */*;q=0.8"], ListFormat::Page),
            (&["application/x-ndjson"], ListFormat::Lines),
            (&["Application/X-NDJSON; charset=utf-8"], ListFormat::Lines),
            (&["text/csv"], ListFormat::Table),
            (&["application/json, text/csv"], ListFormat::Page),
            (&["application/json;q=0.5, text/csv;q=0.6"], ListFormat::Table),
            (&["*/*;q=0.1", "application/x-ndjson"], ListFormat::Lines),
            (&["text/csv;q=0"], ListFormat::Page),
        ] {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(header::ACCEPT, value.parse().expect("a header"));
            }
            assert_eq!(ListFormat::accepted(&headers), kind, "{accept:?}");
        }
    }
}
