//! The npm and Python packages of this version, made by the build.

use std::sync::LazyLock;

use axum::{
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};

use crate::{
    http::{
        response::problem::Problem,
        site::{assets::generated, generated::GeneratedFile, modules::HTML},
    },
    sha256::hex,
};

static TARBALL: LazyLock<GeneratedFile> =
    LazyLock::new(|| GeneratedFile::new(&include_bytes!(concat!(env!("OUT_DIR"), "/client.tgz"))[..], ARCHIVE));
static WHEEL: LazyLock<GeneratedFile> =
    LazyLock::new(|| GeneratedFile::new(&include_bytes!(concat!(env!("OUT_DIR"), "/client.whl"))[..], ARCHIVE));
static INDEX: LazyLock<GeneratedFile> = LazyLock::new(|| GeneratedFile::new(index(), HTML));
const ARCHIVE: &str = "application/octet-stream";
/// The wheel's name, version and tags, which pip reads from the address.
const WHEEL_NAME: &str = env!("BUILT_WHEEL");

/// `GET /client.tgz`: `npm install https://queue.example/client.tgz`.
pub async fn npm(headers: HeaderMap) -> Response {
    generated(TARBALL.clone(), &headers)
}

/// `GET /python/`: an index page for `pip --find-links`.
pub async fn python(headers: HeaderMap) -> Response {
    generated(INDEX.clone(), &headers)
}

fn index() -> String {
    let hash = hex(WHEEL.hash);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>intray-client for Python</title>\n\
         <p><a href=\"{WHEEL_NAME}#sha256={hash}\">{WHEEL_NAME}</a></p>\n\
         <p><code>pip install --no-index --find-links</code> and the address of this page, then \
         <code>intray-client</code></p>\n"
    )
}

/// `GET /python/{wheel}`: the wheel of this version only.
pub async fn wheel(uri: Uri, headers: HeaderMap) -> Response {
    if uri.path().strip_prefix("/python/") == Some(WHEEL_NAME) {
        return generated(WHEEL.clone(), &headers);
    }
    Problem::no_such_route(&uri).into_response()
}
