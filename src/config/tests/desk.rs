//! What the desk may load from elsewhere.

use super::*;

#[test]
fn image_origins_are_repeated_or_separated_by_commas() {
    let line = "--desk-image-origin https://a.example/x/,https://b.example --desk-image-origin https://C.example:443/";
    let origins: Vec<_> = serve(line).desk.desk_image_origin.iter().map(ToString::to_string).collect();
    assert_eq!(origins, ["https://a.example/x/", "https://b.example/", "https://c.example/"]);
    assert!(serve("").desk.desk_image_origin.is_empty() && serve("").desk.desk_token_url.is_none());
}

#[test]
fn addresses_that_a_policy_cannot_name_are_refused_at_the_start() {
    for (line, rule) in [
        ("--desk-image-origin http://cdn.example/", "must be https://host[:port]"),
        ("--desk-image-origin https://a.example/photos/,https://u@b.example/", "without user"),
        ("--desk-image-origin https://*/", "without user, query, fragment and *"),
        ("--desk-image-origin https://cdn.example/photos", "ends with /"),
        ("--desk-token-url http://site.example/", "http:// for 127.0.0.0/8 and localhost only"),
        ("--desk-token-url https://site.example/?a=b", "without user, query"),
    ] {
        assert!(refusal(line).contains(rule), "{line}: {}", refusal(line));
    }
}
