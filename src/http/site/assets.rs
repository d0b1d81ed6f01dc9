//! The pages and the browser module from `web/`: embedded in a release, read again for each request in a debug build.

use std::{borrow::Cow, sync::LazyLock};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

use crate::{
    http::{
        response::{entity_tag::EntityTag, formula, problem::Problem},
        site::{
            desk::{self, DeskPage},
            docs,
            generated::GeneratedFile,
            modules::{self, Files, HTML, JAVASCRIPT},
            policy::{POLICY, READERS_POLICY},
        },
    },
    job::{Concern, EventKind, settings},
    sha256::hex,
};

/// Whether the demo desk is served.
#[derive(Debug, Clone, Copy)]
pub struct Demo(pub bool);

/// The folder of pages that are made from Markdown, with the viewer of the contract.
const DOCS: &str = "docs/";
const READER: &str = "docs/contract.html";

/// `GET /`: the start page, which links the demo desk if it is served.
pub async fn home(State(Demo(demo)): State<Demo>) -> Response {
    let page =
        Files::get("index.html").map(|file| String::from_utf8_lossy(&file.data).into_owned()).unwrap_or_default();
    let lines = page.lines().filter(|line| demo || !line.contains("demo/"));
    let page: String = lines.flat_map(|line| [line, "\n"]).collect();
    (head(HeaderValue::from_static(POLICY)), [(header::CONTENT_TYPE, HTML)], page).into_response()
}

/// `GET /client.js`, `GET /form.js`, their types, and the styles of a form.
pub async fn module(uri: Uri, headers: HeaderMap) -> Response {
    let file = match uri.path() {
        "/form.css" => "client/form/form.css".to_owned(),
        path => format!("client{path}"),
    };
    serve(&file, &uri, &headers)
}

/// A console module that is generated: the state of a job after each event, the patterns of formulas, and the default
/// settings.
const WORDS: &str = "console/words.js";

static WORDS_FILE: LazyLock<GeneratedFile> = LazyLock::new(|| GeneratedFile::new(words(), JAVASCRIPT));

fn words() -> String {
    let after = EventKind::ALL.into_iter().filter_map(|kind| match kind.concerns() {
        Concern::Job(state) => Some(format!("  '{}': '{}',\n", kind.word(), state.word())),
        Concern::Batch | Concern::Queue => None,
    });
    let after = after.collect::<String>();
    let patterns = formula::patterns().map(|(name, pattern)| format!("export const {name} = {pattern}\n")).concat();
    let defaults = serde_json::to_string(&settings::DEFAULT).unwrap_or_default();
    format!("export const AFTER = {{\n{after}}}\n{patterns}export const DEFAULTS = {defaults}\n")
}

/// `GET /console/`, `GET /docs/`, `GET /demo/`, and the files in these folders.
pub async fn page(State(desk): State<DeskPage>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let index = if path.ends_with('/') && path != DOCS { "index.html" } else { "" };
    let name = format!("{path}{index}");
    if name == desk::PAGE {
        let file = desk.file();
        return sent(file.data, &file.hash, file.kind, desk.policy(), &headers);
    }
    serve(&name, &uri, &headers)
}

/// `GET /console` redirects to the folder, because its links are relative. The redirect is relative too, for proxies
/// that serve it below a path.
pub async fn into_folder(uri: Uri) -> Response {
    let name = uri.path().rsplit('/').next().unwrap_or_default();
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, format!("{name}/"))]).into_response()
}

/// `GET /demo/approvals/`: links in messages lead there. The browser keeps the token of a link, after the `#`.
pub async fn approvals(uri: Uri) -> Response {
    let up = if uri.path().ends_with('/') { "../../" } else { "../" };
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, format!("{up}desk/?queue=approvals"))]).into_response()
}

fn serve(name: &str, uri: &Uri, headers: &HeaderMap) -> Response {
    if name == WORDS {
        return generated(WORDS_FILE.clone(), headers);
    }
    if let Some(module) = modules::find(name) {
        return generated(module, headers);
    }
    if let Some(page) = name.strip_prefix(DOCS).and_then(docs::find) {
        return generated(page, headers);
    }
    match Files::get(name).zip(content_type(name)) {
        Some((file, kind)) => answer(name, kind, file.data, &file.metadata.sha256_hash(), headers),
        None => Problem::no_such_route(uri).into_response(),
    }
}

/// None for a file that no browser reads, such as a script or Markdown.
fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "js" | "mjs" => JAVASCRIPT,
        "html" => HTML,
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "ts" | "txt" | "LICENSE" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

pub fn generated(file: GeneratedFile, headers: &HeaderMap) -> Response {
    sent(file.data, &file.hash, file.kind, HeaderValue::from_static(POLICY), headers)
}

fn head(policy: HeaderValue) -> [(HeaderName, HeaderValue); 5] {
    // Revalidated on each load, so that a page never mixes versions.
    [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    ]
}

fn answer(name: &str, kind: &'static str, data: Cow<'static, [u8]>, hash: &[u8], headers: &HeaderMap) -> Response {
    let policy = if name == READER { READERS_POLICY } else { POLICY };
    sent(data, hash, kind, HeaderValue::from_static(policy), headers)
}

fn sent(
    data: impl IntoResponse,
    hash: &[u8],
    kind: &'static str,
    policy: HeaderValue,
    headers: &HeaderMap,
) -> Response {
    let hash = hex(&hash[..16]);
    let (tag, head) = (EntityTag::of(&hash), head(policy));
    if tag.is_known(headers) {
        return (StatusCode::NOT_MODIFIED, head, tag.headers()).into_response();
    }
    (head, tag.headers(), [(header::CONTENT_TYPE, kind)], data).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_browser_files_are_served() {
        let get = |name: &str| serve(name, &Uri::default(), &HeaderMap::new()).status();
        for name in ["client/client.js", "client/client.d.ts", "console/http.js", "demo/base.css", "demo/index.html"] {
            assert_eq!(get(name), StatusCode::OK, "{name}");
        }
        let is_for_others = |name: &&str| [".sh", ".md", ".json"].iter().any(|kind| name.ends_with(kind));
        let names: Vec<_> = Files::iter().collect();
        let others: Vec<_> = names.iter().map(|name| &**name).filter(is_for_others).collect();
        assert!(others.len() > 3, "{others:?}");
        for name in others {
            assert_eq!(get(name), StatusCode::NOT_FOUND, "{name}");
        }
        assert_eq!(names.iter().find(|name| name.contains("node_modules")), None);
    }

    #[test]
    fn paths_outside_the_folder_are_not_found() {
        for name in
            ["../Cargo.toml", "console/../../Cargo.toml", "/etc/passwd", "console/..%2f..%2fCargo.toml", "console"]
        {
            assert!(Files::get(name).is_none(), "{name}");
        }
    }
}
