//! Reads query parameters one by one and collects every error.

use std::time::Duration;

use axum::{
    extract::{FromRequestParts, Query as Pairs},
    http::request::Parts,
};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::{
    access::Caller,
    http::{
        request::rules,
        response::{
            field_error::{FieldError, MAX_ERRORS, Rule},
            problem::Problem,
        },
    },
    job::{Invalid, QueueName, limits},
    store::Cursor,
};

/// The rule for percent-encoded bytes that are not UTF-8.
pub const NOT_UTF8: &str = "must be UTF-8";
/// Said of a value that is refused for a blank which the caller may have sent as a plus sign.
const PLUS: &str = "a + in a query is a blank, so write it as %2B";
/// Entries on a page without a `limit`.
const DEFAULT_PAGE_SIZE: u32 = 50;
pub const MAX_PAGE_SIZE: u32 = 100;

pub struct Query {
    pairs: Vec<(String, String)>,
    errors: Vec<FieldError>,
    has_plus: bool,
}

/// For routes without parameters.
pub struct NoQuery;

impl Query {
    /// The parameter's value, if it is present and valid.
    pub fn take<T, R: Into<Rule>>(&mut self, name: &str, rule: impl FnOnce(&str) -> Result<T, R>) -> Option<T> {
        let found = self.all(name);
        match found.as_slice() {
            [] => None,
            [value] => rule(value).map_err(|broken| self.reject_value(name, value, broken)).ok(),
            _ => {
                self.reject(name, "is given twice");
                None
            }
        }
    }

    /// Like [`take`](Self::take), for a required parameter.
    pub fn require<T, R: Into<Rule>>(&mut self, name: &str, rule: impl FnOnce(&str) -> Result<T, R>) -> Option<T> {
        if !self.has(name) {
            self.reject(name, "is required");
        }
        self.take(name, rule)
    }

    /// The parameters that are not read yet, except some.
    pub fn parameters(&self, left_out: &[&str]) -> Map<String, Value> {
        let named = self.pairs.iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
        named.map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
    }

    /// Whether the parameter is given and not read yet.
    pub fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(given, _)| given == name)
    }

    /// The values of a parameter that is repeated, each another.
    pub fn distinct<T: PartialEq>(
        &mut self,
        name: &str,
        max: usize,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Vec<T> {
        let (named, mut values) = (self.all(name), Vec::new());
        if named.len() > max {
            self.reject(name, format!("must be given at most {max} times"));
        }
        for text in named.iter().take(max) {
            match parse(text) {
                Ok(value) if values.contains(&value) => self.reject(name, format!("names a {name} twice")),
                Ok(value) => values.push(value),
                Err(rule) => self.reject_value(name, text, rule),
            }
        }
        values
    }

    /// All values of a parameter that may be repeated.
    pub fn all(&mut self, name: &str) -> Vec<String> {
        self.pairs.extract_if(.., |(given, _)| given == name).map(|(_, value)| value).collect()
    }

    /// The values of a parameter, separated by commas or repeated. Values beyond the limit are not read.
    pub fn list(&mut self, name: &str, max: usize) -> Vec<String> {
        let values = self.all(name);
        let mut listed = values.iter().flat_map(|value| value.split(','));
        let list = listed.by_ref().take(max).map(str::to_owned).collect();
        if listed.next().is_some() {
            self.reject(name, format!("must name at most {max}"));
        }
        list
    }

    fn reject_value(&mut self, name: &str, value: &str, rule: impl Into<Rule>) {
        let rule = rule.into();
        let is_decoded = self.has_plus && value.contains(' ');
        self.reject(name, if is_decoded { format!("{rule}; {PLUS}").into() } else { rule });
    }

    /// Adds an error that depends on more than the parameter's own value.
    pub fn reject(&mut self, name: &str, rule: impl Into<Rule>) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(FieldError::parameter(name, rule));
        }
    }

    /// The value, if there were no errors and no parameters are left.
    ///
    /// # Errors
    /// A problem that lists all errors.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T, Problem> {
        for (name, _) in std::mem::take(&mut self.pairs).into_iter().take(MAX_ERRORS) {
            self.reject(&name, "is not a parameter of this route");
        }
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            _ => Err(Problem::invalid(self.errors)),
        }
    }
}

/// The start and size of a page.
pub fn read_page(query: &mut Query, cursor: fn(&str) -> Result<Cursor, Invalid>) -> (Option<Cursor>, u32) {
    (query.take("after", cursor), read_limit(query))
}

pub fn read_limit(query: &mut Query) -> u32 {
    query.take("limit", rules::whole_text(1..=MAX_PAGE_SIZE)).unwrap_or(DEFAULT_PAGE_SIZE)
}

/// How long the call may wait for a change.
pub fn read_wait(query: &mut Query) -> Duration {
    let ms = query.take("wait_ms", rules::whole_text(0..=limits::WAIT_MS));
    Duration::from_millis(ms.unwrap_or(0).into())
}

/// The queues named by `queue`, or the caller's default ones.
pub fn read_queues(query: &mut Query, caller: &Caller) -> Vec<QueueName> {
    let mut names = Vec::new();
    for text in query.list("queue", limits::RESERVE_QUEUES) {
        match QueueName::parse(&text) {
            Ok(name) if names.contains(&name) => query.reject("queue", "names a queue twice"),
            Ok(name) => names.push(name),
            Err(rule) => query.reject("queue", rule),
        }
    }
    if names.is_empty() { default_queues(caller) } else { names }
}

/// For calls that name no queue.
pub fn default_queues(caller: &Caller) -> Vec<QueueName> {
    caller.named_queues().unwrap_or_else(|| vec![QueueName::default()])
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        if let Some(text) = parts.uri.query()
            && let Some(problem) = undecodable(text)
        {
            return Err(problem);
        }
        match Pairs::try_from_uri(&parts.uri) {
            Ok(Pairs(pairs)) => {
                let has_plus = parts.uri.query().is_some_and(|text| text.contains('+'));
                Ok(Self { pairs, errors: Vec::new(), has_plus })
            }
            Err(_) => Err(Problem::invalid(vec![FieldError::parameter("", "must be name=value pairs joined by &")])),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match parts.uri.query() {
            None => Ok(Self),
            Some(_) => Query::from_request_parts(parts, state).await?.finish(Some(Self)),
        }
    }
}

/// A problem for bytes that are not UTF-8, which would otherwise be read as other text.
fn undecodable(query: &str) -> Option<Problem> {
    if !query.contains('%') {
        return None;
    }
    let wrong = query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = percent_decode_str(name).decode_utf8().map_err(|_| String::new());
        match (name, percent_decode_str(value).decode_utf8()) {
            (Ok(_), Ok(_)) => None,
            (Ok(name), Err(_)) => Some(name.replace('+', " ")),
            (Err(unnamed), _) => Some(unnamed),
        }
    })?;
    Some(Problem::invalid(vec![FieldError::parameter(&wrong, NOT_UTF8)]))
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;

    use super::*;
    use crate::{
        http::request::rules,
        job::{Line, Name, Skill},
    };

    async fn query(text: &str) -> Query {
        let request = Request::builder().uri(format!("/x?{text}")).body(()).expect("a request");
        let (mut parts, ()) = request.into_parts();
        Query::from_request_parts(&mut parts, &()).await.expect("pairs")
    }

    #[tokio::test]
    async fn all_errors_are_reported_together() {
        let mut query = query("limit=0&force=true&a=1&a=2&x&%79=%20").await;
        assert_eq!(query.take("limit", rules::whole_text(1..=100)), None);
        assert_eq!(query.take("force", rules::flag_text), Some(true));
        assert_eq!(query.take("a", rules::whole_text(1..=100)), None);
        assert_eq!(query.require("state", rules::flag_text), None);
        let problem = serde_json::to_value(query.finish(Some(())).expect_err("mistakes")).expect("JSON");
        let names: Vec<_> =
            problem["errors"].as_array().expect("errors").iter().map(|e| e["parameter"].as_str()).collect();
        assert_eq!(names, ["limit", "a", "state", "x", "y"].map(Some));
    }

    #[tokio::test]
    async fn plus_that_is_read_as_a_blank_is_named() {
        for (text, is_named) in [
            ("line=+de&worker=+ann&skill=legal&skill=de+", true),
            ("line=%20de&worker=%20ann&skill=legal&skill=de%20", false),
        ] {
            let mut query = query(text).await;
            query.take("line", Line::parse);
            query.take("worker", Name::of_worker);
            query.distinct("skill", 16, Skill::parse);
            let problem = serde_json::to_value(query.finish(Some(())).expect_err("mistakes")).expect("JSON");
            let errors = problem["errors"].as_array().expect("errors");
            assert_eq!(errors.len(), 3, "{problem}");
            for error in errors {
                assert_eq!(error["detail"].as_str().is_some_and(|rule| rule.contains("%2B")), is_named, "{error}");
            }
        }
        let mut query = query("line=%2Bde&a=b+c").await;
        assert_eq!(query.take("line", Line::parse).map(|line| line.to_string()).as_deref(), Some("+de"));
        assert_eq!(query.all("a"), ["b c"]);
    }

    #[tokio::test]
    async fn repeated_parameter_keeps_its_order() {
        let mut query = query("queue=b&queue=a").await;
        assert_eq!(query.all("queue"), ["b", "a"]);
        assert!(query.finish(Some(())).is_ok());
    }
}
