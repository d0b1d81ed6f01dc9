//! What a request must have before anything else of it is believed (RFC 9112, sections 3.2 and 6.1). hyper checks the rest.

use axum::http::{HeaderMap, Request, StatusCode, Version, header};

/// A coding that ends a body.
const CHUNKED: &str = "chunked";

/// The status of a request whose host or whose body's end cannot be trusted: a proxy before this service may read it in another way.
pub(super) fn refusal<B>(request: &Request<B>) -> Option<StatusCode> {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 {
        return Some(StatusCode::BAD_REQUEST);
    }
    coding_refusal(request.headers())
}

fn coding_refusal(headers: &HeaderMap) -> Option<StatusCode> {
    let values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings: Vec<_> = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).collect();
    let is_chunked = |coding: &&[u8]| coding.trim_ascii().eq_ignore_ascii_case(CHUNKED.as_bytes());
    match codings.iter().filter(|coding| is_chunked(coding)).count() {
        count if count == codings.len() && count < 2 => None,
        0 | 1 => Some(StatusCode::NOT_IMPLEMENTED),
        _ => Some(StatusCode::BAD_REQUEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(version: Version, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = Request::builder().version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        refusal(&request.body(()).expect("a request")).map(|status| status.as_u16())
    }

    #[test]
    fn body_is_chunked_once_and_nothing_else() {
        let of = |codings: &[&str]| {
            let mut headers = vec![("host", "localhost")];
            headers.extend(codings.iter().map(|coding| ("transfer-encoding", *coding)));
            status(Version::HTTP_11, &headers)
        };
        for (codings, expected) in [
            (&[][..], None),
            (&["chunked"], None),
            (&[" Chunked "], None),
            (&["gzip, chunked"], Some(501)),
            (&["gzip", "chunked"], Some(501)),
            (&["identity, chunked"], Some(501)),
            (&["chunked;q=1"], Some(501)),
            (&["chunked, chunked"], Some(400)),
            (&["chunked", "chunked"], Some(400)),
            (&["chunked, gzip, chunked"], Some(400)),
            (&[", chunked"], Some(501)),
        ] {
            assert_eq!(of(codings), expected, "{codings:?}");
        }
    }

    #[test]
    fn request_names_one_host() {
        let one = ("host", "localhost");
        assert_eq!(status(Version::HTTP_11, &[one]), None);
        assert_eq!(status(Version::HTTP_11, &[]), Some(400));
        assert_eq!(status(Version::HTTP_10, &[]), None);
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert_eq!(status(version, &[one, one]), Some(400));
            assert_eq!(status(version, &[one, ("host", "other")]), Some(400));
        }
    }
}
