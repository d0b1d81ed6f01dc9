//! The desk's page, with what an operator lets it load from elsewhere: in its content policy, and in its text, where its scripts
//! find it.

use std::sync::Arc;

use axum::http::HeaderValue;

use crate::http::{
    middleware::policy::DeskSources,
    site::{
        generated::GeneratedFile,
        modules::{Files, HTML},
        policy::POLICY,
    },
};

pub const PAGE: &str = "desk/index.html";

#[derive(Clone)]
pub struct DeskPage(Arc<SetPage>);

struct SetPage {
    policy: HeaderValue,
    /// What stands in the page's `meta` elements, by their names.
    settings: [(&'static str, String); 2],
}

impl DeskPage {
    pub fn new(sources: &DeskSources) -> Self {
        let (images, token) = (sources.images.join(" "), sources.token.clone().unwrap_or_default());
        let policy = POLICY.replace("img-src 'self'", format!("img-src 'self' {images}").trim_end());
        let policy = policy.replace("connect-src 'self'", format!("connect-src 'self' {token}").trim_end());
        // Addresses are visible ASCII; else nothing of elsewhere is loaded.
        let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(POLICY));
        Self(Arc::new(SetPage { policy, settings: [("intray-image-origins", images), ("intray-token-url", token)] }))
    }

    pub fn policy(&self) -> HeaderValue {
        self.0.policy.clone()
    }

    /// The page. An address has nothing that ends an attribute.
    pub fn file(&self) -> GeneratedFile {
        let page = Files::get(PAGE).map(|file| String::from_utf8_lossy(&file.data).into_owned()).unwrap_or_default();
        let set = |page: String, (name, value): &(&str, String)| {
            page.replace(&format!("name=\"{name}\" content=\"\""), &format!("name=\"{name}\" content=\"{value}\""))
        };
        GeneratedFile::new(self.0.settings.iter().fold(page, set), HTML)
    }
}
