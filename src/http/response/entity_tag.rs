//! Answers that a browser keeps and asks about again (RFC 9110, section 8.8.3).

use axum::http::{HeaderMap, HeaderName, header};

/// The `ETag` of an answer.
pub struct EntityTag(String);

impl EntityTag {
    /// `word` is a digest, or another word without quotes.
    pub fn of(word: &str) -> Self {
        Self(format!("\"{word}\""))
    }

    /// Whether the caller has this version already (RFC 9110, section 13.1.2).
    pub fn is_known(&self, headers: &HeaderMap) -> bool {
        let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        known.is_some_and(|known| known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == self.0))
    }

    /// The headers of the answer: it may be kept, and is asked about each time.
    pub fn headers(&self) -> [(HeaderName, String); 2] {
        [(header::ETAG, self.0.clone()), (header::CACHE_CONTROL, "no-cache".to_owned())]
    }
}
