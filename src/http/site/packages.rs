//! The packages for npm and Python, made while this was built: whoever gets one here gets what fits this service.

use axum::{
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};

use crate::{
    http::{response::problem::Problem, site::assets::made},
    sha256::{Sha256, hex},
};

const TARBALL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/client.tgz"));
const WHEEL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/client.whl"));
/// Says what it is, its version and what it runs on. pip reads that off the address.
const WHEEL_NAME: &str = env!("BUILT_WHEEL");

/// `GET /client.tgz`: `npm install https://queue.example/client.tgz`.
pub async fn npm(headers: HeaderMap) -> Response {
    made("client.tgz", TARBALL.into(), &headers)
}

/// `GET /python/`: a page of one link, which `pip --find-links` follows.
pub async fn python(headers: HeaderMap) -> Response {
    let hash = hex(&Sha256::digest(WHEEL));
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>intray-client for Python</title>\n\
         <p><a href=\"{WHEEL_NAME}#sha256={hash}\">{WHEEL_NAME}</a></p>\n\
         <p><code>pip install --no-index --find-links</code> and the address of this page, then \
         <code>intray-client</code></p>\n"
    );
    made("python/index.html", page.into_bytes().into(), &headers)
}

/// `GET /python/{wheel}`: this version's, and no other.
pub async fn wheel(uri: Uri, headers: HeaderMap) -> Response {
    if uri.path().strip_prefix("/python/") == Some(WHEEL_NAME) {
        return made(WHEEL_NAME, WHEEL.into(), &headers);
    }
    Problem::no_such_route(&uri).into_response()
}
