//! Pages for browsers: the module, the console, the docs and the demo.

use std::collections::BTreeMap;

use crate::world::{World, access::SECRET};

/// Fetches without redirects and without the contract check: page files are not part of the API.
pub(super) async fn fetch(w: &World, method: &str, path: &str, headers: &[(&str, &str)]) -> reqwest::Response {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build();
    let method = method.parse().expect("a method");
    let request = client.expect("a client").request(method, format!("{}{path}", w.base()));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().await.expect("an answer")
}

pub(super) fn header<'a>(answer: &'a reqwest::Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().expect("text"))
}

#[tokio::test]
async fn pages_are_served_with_a_strict_content_policy() {
    let w = World::plan().switch("--demo").start().await;
    for (path, kind) in [
        ("/client.js", "text/javascript; charset=utf-8"),
        ("/client.d.ts", "text/plain; charset=utf-8"),
        ("/client.tgz", "application/octet-stream"),
        ("/form.js", "text/javascript; charset=utf-8"),
        ("/form.d.ts", "text/plain; charset=utf-8"),
        ("/form.css", "text/css; charset=utf-8"),
        ("/desk/", "text/html; charset=utf-8"),
        ("/desk/desk.js", "text/javascript; charset=utf-8"),
        ("/python/", "text/html; charset=utf-8"),
        (&format!("/python/{}", env!("BUILT_WHEEL")), "application/octet-stream"),
        ("/console/", "text/html; charset=utf-8"),
        ("/console/style.css", "text/css; charset=utf-8"),
        ("/console/words.js", "text/javascript; charset=utf-8"),
        ("/console/icon.svg", "image/svg+xml"),
        ("/console/vendor/preact.mjs", "text/javascript; charset=utf-8"),
        ("/console/vendor/preact.LICENSE", "text/plain; charset=utf-8"),
        ("/demo/", "text/html; charset=utf-8"),
        ("/demo/desk.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = fetch(&w, "GET", path, &[]).await;
        assert_eq!((answer.status().as_u16(), header(&answer, "content-type")), (200, kind), "{path}");
        let policy = header(&answer, "content-security-policy");
        for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for"] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header(&answer, "cache-control"), "no-cache", "{path}");
        let tag = header(&answer, "etag").to_owned();
        assert!(!answer.bytes().await.expect("a body").is_empty(), "{path}");
        for (known, status) in [(&*tag, 304), (&format!("\"other\", W/{tag}"), 304), ("\"other\"", 200)] {
            let again = fetch(&w, "GET", path, &[("if-none-match", known)]).await;
            assert_eq!(again.status(), status, "{path} {known}");
        }
    }
    w.check().await;
}

#[tokio::test]
async fn root_page_links_to_everything() {
    let bare = World::plan().with_keys(&[]).start().await;
    let w = World::plan().switch("--demo").start().await;
    for (world, has_demo) in [(&bare, false), (&w, true)] {
        let page = fetch(world, "GET", "/", &[]).await;
        assert_eq!((page.status().as_u16(), header(&page, "content-type")), (200, "text/html; charset=utf-8"));
        assert!(header(&page, "content-security-policy").contains("default-src 'none'"), "{page:?}");
        let text = page.text().await.expect("text");
        assert!(!text.contains("<script"), "{text}");
        let links: Vec<_> = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(
            links.contains(&"console/") && links.contains(&"docs/") && links.contains(&"openapi.yaml"),
            "{links:?}"
        );
        assert_eq!((links.contains(&"desk/"), links.contains(&"demo/")), (true, has_demo), "{links:?}");
        for link in links {
            assert_eq!(fetch(world, "GET", &format!("/{link}"), &[]).await.status(), 200, "{link}");
        }
    }
    assert_eq!(w.get("/").await.status, 200);
    w.check().await;
}

#[tokio::test]
async fn pictures_of_the_pages_are_served() {
    let w = World::plan().switch("--demo").start().await;
    for page in ["/docs/", "/console/", "/desk/", "/demo/"] {
        let text = fetch(&w, "GET", page, &[]).await.text().await.expect("text");
        let icon = text.split("rel=\"icon\" href=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an icon");
        assert_eq!(fetch(&w, "GET", &format!("{page}{icon}"), &[]).await.status(), 200, "{page}{icon}");
    }
}

#[tokio::test]
async fn contract_page_loads_nothing_from_other_hosts() {
    let w = World::start().await;
    let page = fetch(&w, "GET", "/docs/contract.html", &[]).await;
    let policy = header(&page, "content-security-policy").to_owned();
    assert!(policy.contains("default-src 'none'; script-src 'self';"), "{policy}");
    let text = page.text().await.expect("text");
    assert!(text.contains(r#"spec-url="../openapi.yaml""#) && !text.contains("http"), "{text}");
    for source in text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert_eq!(fetch(&w, "GET", &format!("/docs/{source}"), &[]).await.status(), 200, "{source}");
    }
    w.check().await;
}

/// The texts of a page that start with `begin`.
fn named<'p>(page: &'p str, begin: &str) -> Vec<&'p str> {
    page.split(begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[tokio::test]
async fn every_doc_page_is_served_and_its_links_resolve() {
    let w = World::start().await;
    let (mut pages, mut ahead) = (BTreeMap::new(), vec![String::new()]);
    while let Some(name) = ahead.pop() {
        let answer = fetch(&w, "GET", &format!("/docs/{name}"), &[]).await;
        assert_eq!(answer.status(), 200, "/docs/{name}");
        assert!(header(&answer, "content-security-policy").contains("style-src 'self';"));
        let text = answer.text().await.expect("text");
        let scripts = named(&text, "<script");
        assert!(
            !text.contains(" style=") && scripts == [" defer src="],
            "{name} follows its content policy: {scripts:?}"
        );
        let links = named(&text, "<a href=\"").into_iter().filter(|link| !link.contains('.') && !link.contains(':'));
        let files = links.filter_map(|link| link.split('#').next()).filter(|file| !file.is_empty());
        let new: Vec<_> = files.filter(|file| !pages.contains_key(*file)).map(str::to_owned).collect();
        pages.insert(name, text.clone());
        ahead.extend(new.into_iter().filter(|file| !pages.contains_key(file)));
    }
    let written = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/docs")).expect("docs").flatten();
    let written = written.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "md"));
    // The README and the module's page are stored elsewhere.
    assert_eq!(pages.len(), written.count() + 2, "each page is linked from the first: {:?}", pages.keys());
    for (name, page) in &pages {
        for picture in named(page, "<img src=\"") {
            let answer = fetch(&w, "GET", &format!("/docs/{picture}"), &[]).await;
            assert!(header(&answer, "content-type").starts_with("image/"), "{name} shows {picture}");
        }
        for (file, heading) in named(page, "<a href=\"").into_iter().filter_map(|link| link.split_once('#')) {
            let there = &pages[if file.is_empty() { name } else { file }];
            assert!(there.contains(&format!(" id=\"{heading}\"")), "{name} leads to {file}#{heading}");
        }
    }
    w.check().await;
}

#[tokio::test]
async fn doc_pages_are_grouped_and_mark_the_current_page() {
    let w = World::start().await;
    let first = fetch(&w, "GET", "/docs/", &[]).await.text().await.expect("text");
    let nav =
        first.split("<nav id=\"pages\"").nth(1).and_then(|rest| rest.split("</nav>").next()).expect("a list of pages");
    let groups: Vec<_> = nav.split("<h2>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
    assert_eq!(groups, ["Begin", "Build", "Operate", "Understand"]);
    assert!(!nav.contains("aria-current"), "the first page is linked at the top");
    let pages = named(nav, "<a href=\"");
    let unique: std::collections::BTreeSet<_> = pages.iter().collect();
    assert!(unique.len() == pages.len() && pages.contains(&"contract.html") && pages.contains(&"module"), "{pages:?}");
    let index = fetch(&w, "GET", "/docs/search.json", &[]).await;
    assert_eq!(header(&index, "content-type"), "application/json");
    let index: Vec<[String; 5]> = serde_json::from_str(&index.text().await.expect("text")).expect("sections");
    for page in pages.into_iter().filter(|page| !page.contains('.')) {
        let text = fetch(&w, "GET", &format!("/docs/{page}"), &[]).await.text().await.expect("text");
        let marked: Vec<_> = text.split(" aria-current=").collect();
        let own = marked[0].rsplit("href=\"").next().map(|rest| rest.trim_end_matches('"'));
        assert_eq!((marked.len(), own), (2, Some(page)), "only the current page is marked");
        // Every heading has an anchor.
        for heading in named(&text, "<h2 id=\"").into_iter().chain(named(&text, "<h3 id=\"")) {
            assert!(index.iter().any(|[name, _, anchor, ..]| name == page && anchor == heading), "{page}#{heading}");
        }
    }
    w.check().await;
}

#[tokio::test]
async fn folder_without_a_slash_redirects() {
    let w = World::plan().switch("--demo").start().await;
    for path in ["/console", "/demo", "/desk", "/docs", "/python"] {
        let answer = fetch(&w, "GET", path, &[]).await;
        let name = path.rsplit('/').next().expect("a name");
        assert_eq!((answer.status().as_u16(), header(&answer, "location")), (308, &*format!("{name}/")), "{path}");
    }
    w.check().await;
}

#[tokio::test]
async fn unknown_page_file_returns_404() {
    let w = World::plan().switch("--demo").start().await;
    for path in [
        "/demo/items.json",
        "/demo/seed.sh",
        "/demo/approvals.json",
        "/demo/approvals/nowhere.js",
        "/console/nowhere.js",
        "/desk/nowhere.js",
        "/form.json",
        "/form/gate.js",
        "/console/views",
        "/console/views/",
        "/console/README.md",
        "/console/vendor/README.md",
        "/console/..%2fclient%2fclient.js",
        "/console/%2e%2e/%2e%2e/Cargo.toml",
        "/console//etc/passwd",
        "/client.json",
        "/client/client.js",
        "/python/intray_client-0.0.0-py3-none-any.whl",
        "/python/client.whl",
    ] {
        let answer = fetch(&w, "GET", path, &[]).await;
        assert_eq!(
            (answer.status().as_u16(), header(&answer, "content-type")),
            (404, "application/problem+json"),
            "{path}"
        );
    }
    assert_eq!(fetch(&w, "POST", "/console/", &[]).await.status(), 405);
    assert_eq!(fetch(&w, "HEAD", "/client.js", &[]).await.status(), 200);
    w.check().await;
}

#[tokio::test]
async fn former_desk_for_approvals_redirects_to_the_desk() {
    let w = World::plan().switch("--demo").start().await;
    for (path, location) in [("/demo/approvals", "../"), ("/demo/approvals/", "../../")] {
        let answer = fetch(&w, "GET", path, &[]).await;
        let there = format!("{location}desk/?queue=approvals");
        assert_eq!((answer.status().as_u16(), header(&answer, "location")), (308, &*there), "{path}");
    }
    w.check().await;
}

#[tokio::test]
async fn demo_is_served_only_with_its_flag() {
    let w = World::start().await;
    for path in ["/demo", "/demo/", "/demo/desk.js", "/demo/approvals", "/demo/approvals/"] {
        w.get(path).await.refused("not-found");
    }
    w.check().await;
}

/// Callers without a key get the sign-in page and the module; modules are loaded with CORS.
#[tokio::test]
async fn pages_need_no_key_and_the_module_follows_cors() {
    let desk = "https://desk.example";
    let w = World::plan().with_keys(&[]).flag("--token-secret", SECRET).flag("--cors-origin", desk).start().await;
    for path in
        ["/console/", "/console/app.js", "/desk/", "/form.js", "/client.js", "/client.d.ts", "/client.tgz", "/python/"]
    {
        for credential in ["", "Bearer nonsense"] {
            let answer = fetch(&w, "GET", path, &[("authorization", credential)]).await;
            assert_eq!(answer.status(), 200, "{path} {credential}");
        }
    }
    for (origin, allowed) in [(desk, desk), ("https://evil.example", ""), ("null", "")] {
        let answer = fetch(&w, "GET", "/client.js", &[("origin", origin)]).await;
        assert_eq!(header(&answer, "access-control-allow-origin"), allowed, "{origin}");
    }
    w.check().await;
}
