//! The desk's page may load what its flags name, and no other page may.

use super::pages::{fetch, header};
use crate::world::World;

/// The sources of a directive of a page's content policy.
fn sources(policy: &str, directive: &str) -> Vec<String> {
    let all: Vec<_> = policy.split(';').map(|part| part.split_whitespace().collect::<Vec<_>>()).collect();
    let found: Vec<_> = all.iter().filter(|part| part.first() == Some(&directive)).collect();
    assert_eq!(found.len(), 1, "{directive} in {policy}");
    found[0][1..].iter().map(|&source| source.to_owned()).collect()
}

/// What the page's `meta` element of this name has.
fn setting(page: &str, name: &str) -> String {
    let parts: Vec<_> = page.split(&format!("<meta name=\"{name}\" content=\"")).collect();
    assert_eq!(parts.len(), 2, "{name}");
    parts[1].split('"').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn desk_alone_may_load_what_its_flags_name() {
    let w = World::plan()
        .switch("--demo")
        .flag("--desk-image-origin", "https://CDN.example:443/photos/,https://pics.example")
        .flag("--desk-image-origin", "https://third.example:8443/")
        .flag("--desk-token-url", "https://site.example/desk-token")
        .start()
        .await;
    let images = ["https://cdn.example/photos/", "https://pics.example/", "https://third.example:8443/"];
    for path in ["/desk/", "/desk/index.html"] {
        let answer = fetch(&w, "GET", path, &[]).await;
        let (policy, tag) = (header(&answer, "content-security-policy").to_owned(), header(&answer, "etag").to_owned());
        assert_eq!(sources(&policy, "img-src"), ["'self'", images[0], images[1], images[2], "data:"]);
        assert_eq!(sources(&policy, "connect-src"), ["'self'", "https://site.example/desk-token"]);
        for directive in ["script-src", "style-src"] {
            assert_eq!(sources(&policy, directive), ["'self'"]);
        }
        assert_eq!(sources(&policy, "default-src"), ["'none'"]);
        let known = fetch(&w, "GET", path, &[("if-none-match", &tag)]).await;
        assert_eq!((known.status().as_u16(), header(&known, "content-security-policy")), (304, &*policy));
        let page = answer.text().await.expect("text");
        assert_eq!(setting(&page, "intray-image-origins"), images.join(" "));
        assert_eq!(setting(&page, "intray-token-url"), "https://site.example/desk-token");
    }
    for path in
        ["/", "/console/", "/demo/", "/docs/", "/docs/contract.html", "/desk/desk.js", "/desk/icon.svg", "/form.js"]
    {
        let answer = fetch(&w, "GET", path, &[]).await;
        assert!(!header(&answer, "content-security-policy").contains("example"), "{path}");
    }
    w.check().await;
}

/// A page that a browser has kept is another one when the flags are.
#[tokio::test]
async fn desk_without_flags_loads_nothing_from_elsewhere() {
    let w = World::start().await;
    let named = World::plan().flag("--desk-image-origin", "https://cdn.example/").start().await;
    let tag = header(&fetch(&named, "GET", "/desk/", &[]).await, "etag").to_owned();
    let answer = fetch(&w, "GET", "/desk/", &[("if-none-match", &tag)]).await;
    assert_eq!(answer.status(), 200);
    let policy = header(&answer, "content-security-policy").to_owned();
    assert_eq!(sources(&policy, "img-src"), ["'self'", "data:"]);
    assert_eq!(sources(&policy, "connect-src"), ["'self'"]);
    let console = fetch(&w, "GET", "/console/", &[]).await;
    assert_eq!(policy, header(&console, "content-security-policy"));
    let page = answer.text().await.expect("text");
    for name in ["intray-image-origins", "intray-token-url"] {
        assert_eq!(setting(&page, name), "");
    }
    for w in [w, named] {
        w.check().await;
    }
}
