//! A client over a real socket that checks every answer against the contract.

mod listener;

use reqwest::{Method, header::HeaderMap};
use serde_json::Value;

pub use self::listener::{Listener, Message};
use super::{PATIENCE, contract::CONTRACT, json};

#[derive(Clone)]
pub struct Client {
    base: String,
    http: reqwest::Client,
    /// A key or a token, sent with every call.
    bearer: Option<String>,
    is_hosted: bool,
}

/// A request; [`Request::send`] sends it.
pub struct Request {
    inner: reqwest::RequestBuilder,
    method: Method,
    path: String,
}

/// Why a call has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportError {
    /// The service did not accept the connection.
    NotConnected,
    /// The connection broke during the call.
    Interrupted,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    body: Vec<u8>,
}

impl Client {
    pub fn new(base: &str) -> Self {
        let http = reqwest::Client::builder().timeout(2 * PATIENCE).no_proxy().build().expect("a client");
        Self { base: base.to_owned(), http, bearer: None, is_hosted: false }
    }

    /// The service is a part of this process, as those of other stories are.
    pub fn of_a_hosted_service(self) -> Self {
        Self { is_hosted: true, ..self }
    }

    /// The same service with another credential.
    pub fn with_credential(&self, credential: &str) -> Self {
        Self { bearer: Some(credential.to_owned()), ..self.clone() }
    }

    pub fn without_credential(&self) -> Self {
        Self { bearer: None, ..self.clone() }
    }

    /// The same caller at another service.
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// `127.0.0.1:41234`
    pub fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    pub fn request(&self, method: &str, path: &str) -> Request {
        let is_shared = self.is_hosted && path.starts_with("/metrics");
        assert!(!is_shared, "these are the metrics of all stories: World::start_process()");
        let method: Method = method.parse().expect("a method");
        let inner = self.http.request(method.clone(), format!("{}{path}", self.base));
        let request = Request { inner, method, path: path.to_owned() };
        match &self.bearer {
            Some(bearer) => request.header("authorization", &format!("Bearer {bearer}")),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.request("GET", path).send().await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path).send().await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.request("POST", path).json(body.to_string()).send().await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.request("PATCH", path).json(body.to_string()).send().await
    }

    /// Sends a body as it is written.
    pub async fn post_text(&self, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.request("POST", path).json(body).send().await
    }
}

impl Request {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.inner = self.inner.header(name, value);
        self
    }

    pub fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", "application/json").body(body)
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.inner = self.inner.body(body.into());
        self
    }

    /// Checks the answer against the contract, except for a preflight.
    pub async fn send(self) -> Answer {
        let call = format!("{} {}", self.method, self.path);
        let answer = self.inner.send().await.unwrap_or_else(|e| panic!("{call}: {e:?}"));
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.bytes().await.unwrap_or_else(|e| panic!("{call}: {e:?}")).to_vec();
        let answer = Answer { status, headers, body };
        if self.method != Method::OPTIONS {
            CONTRACT.check(self.method.as_str(), &self.path, &answer);
        }
        answer
    }

    /// The answer with its body unread; closes the connection when dropped.
    pub async fn open(self) -> reqwest::Response {
        let call = format!("{} {}", self.method, self.path);
        self.inner.send().await.unwrap_or_else(|e| panic!("{call}: {e:?}"))
    }

    /// Sends it; `None` when the service is killed meanwhile.
    pub async fn send_if_possible(self) -> Option<Answer> {
        self.try_send().await.ok()
    }

    /// The answer, or the transport error.
    pub async fn try_send(self) -> Result<Answer, TransportError> {
        let lost = |error: reqwest::Error| {
            if error.is_connect() { TransportError::NotConnected } else { TransportError::Interrupted }
        };
        let answer = self.inner.send().await.map_err(lost)?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.bytes().await.map_err(lost)?.to_vec();
        let answer = Answer { status, headers, body };
        CONTRACT.check(self.method.as_str(), &self.path, &answer);
        Ok(answer)
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }

    /// The essence of the content type.
    pub fn content_type(&self) -> String {
        self.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default().trim().to_owned()
    }

    pub fn text(&self) -> String {
        if self.content_type() == "application/octet-stream" && !self.body.is_empty() {
            return format!("{} bytes", self.body.len());
        }
        String::from_utf8(self.body.clone()).expect("answers are UTF-8")
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        json::lenient(&self.text()).unwrap_or_else(|| panic!("not JSON: {}", self.text()))
    }

    /// The text at a JSON pointer, byte for byte.
    #[track_caller]
    pub fn text_at(&self, pointer: &str) -> String {
        let text = self.text();
        json::text_at(&text, pointer).unwrap_or_else(|| panic!("{pointer} is not in {text}")).to_owned()
    }

    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// Expects a problem with this slug.
    #[track_caller]
    pub fn refused(&self, slug: &str) -> Value {
        let body = self.json();
        assert_eq!(body["type"], format!("/problems/{slug}"), "{body}");
        assert_eq!(self.content_type(), "application/problem+json");
        body
    }

    /// Expects a validation error at exactly these JSON pointers.
    #[track_caller]
    pub fn invalid_at(&self, pointers: &[&str]) {
        self.invalid_by("pointer", pointers);
    }

    /// Expects a validation error for exactly these pointers, parameters or headers.
    #[track_caller]
    pub fn invalid_by(&self, kind: &str, names: &[&str]) {
        let problem = self.refused("invalid-request");
        let errors = problem["errors"].as_array().expect("errors");
        let mut found: Vec<_> = errors.iter().map(|error| error[kind].as_str().unwrap_or("?").to_owned()).collect();
        let mut names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        found.sort();
        names.sort();
        assert_eq!(found, names, "{problem}");
    }

    /// Expects a lost reservation with its reason and the job's present state.
    #[track_caller]
    pub fn lost(&self, reason: &str, state: &str) {
        let problem = self.refused("reservation-lost");
        assert_eq!((&problem["reason"], &problem["job_state"]), (&reason.into(), &state.into()), "{problem}");
    }

    /// Expects a reservation that the job does not remember.
    #[track_caller]
    pub fn unknown_reservation(&self) {
        let problem = self.refused("reservation-lost");
        assert_eq!((&problem["reason"], problem.get("job_state")), (&"unknown".into(), None), "{problem}");
    }

    #[track_caller]
    pub fn wrong_state(&self, state: &str) {
        assert_eq!(self.refused("wrong-state")["job_state"], state);
    }
}
