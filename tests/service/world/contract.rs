//! `openapi.yaml`; every answer in the tests is checked against it.

mod messages;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::Validator;
use serde_json::Value;

use super::http::Answer;

/// A JSON text a line.
pub const NDJSON: &str = "application/x-ndjson";

pub static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::read);

pub struct Contract {
    pub document: Value,
    /// By JSON pointer to the schema.
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Contract {
    fn read() -> Self {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.yaml"));
        let document = serde_saphyr::from_str(text).expect("openapi.yaml is YAML");
        Self { document, compiled: Mutex::default() }
    }

    /// The template and the pointer of the route that a path takes; fixed segments win over parameters.
    pub fn route(&self, path: &str) -> Option<(&str, String)> {
        let path: Vec<_> = path.split('?').next().unwrap_or_default().split('/').collect();
        let fits = |template: &str| {
            let template: Vec<_> = template.split('/').collect();
            let same = template.iter().zip(&path).all(|(t, p)| if t.starts_with('{') { !p.is_empty() } else { t == p });
            template.len() == path.len() && same
        };
        let templates = self.document["paths"].as_object().expect("paths").keys();
        let template = templates.filter(|t| fits(t)).min_by_key(|t| t.matches('{').count())?;
        Some((template, format!("/paths/{}", escaped(template))))
    }

    /// The pointer of what an answer with this status must look like.
    fn response(&self, method: &str, path: &str, status: u16) -> Option<String> {
        let method = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
        let operation = self.route(path).map(|(_, route)| format!("{route}/{method}"));
        let operation = operation.filter(|pointer| self.document.pointer(pointer).is_some());
        // Callers without access do not learn whether the operation exists.
        let unasked = match status {
            _ if operation.is_some() => None,
            401 => Some("/components/responses/Unauthorized".to_owned()),
            403 => Some("/components/responses/Forbidden".to_owned()),
            429 => Some("/components/responses/RateLimited".to_owned()),
            _ => None,
        };
        let own = operation.map(|operation| format!("{operation}/responses/{status}"));
        let any = format!("/x-any-route-responses/{status}");
        let pointers = own.into_iter().chain(unasked).chain([any]);
        pointers.into_iter().find(|pointer| self.document.pointer(pointer).is_some()).map(|found| self.resolve(&found))
    }

    /// Where a pointer leads when what it points at is a reference.
    pub fn resolve(&self, pointer: &str) -> String {
        match self.document.pointer(pointer).and_then(|value| value["$ref"].as_str()) {
            Some(reference) => self.resolve(reference.trim_start_matches('#')),
            None => pointer.to_owned(),
        }
    }

    /// # Panics
    /// When an answer is not what the contract says.
    pub fn check(&self, method: &str, path: &str, answer: &Answer) {
        let status = answer.status;
        let call = format!("{method} {path} -> {status}");
        let response = self
            .response(method, path, status)
            .unwrap_or_else(|| panic!("{call} is not documented: {}", answer.text()));
        self.check_headers(&call, &response, answer);
        if method == "HEAD" || status == 304 {
            assert!(answer.text().is_empty(), "{call} has a body");
            return;
        }
        let kind = answer.content_type();
        let content = format!("{response}/content/{}", escaped(&kind));
        assert!(self.document.pointer(&content).is_some(), "{call}: {kind:?} is not documented: {}", answer.text());
        let is_json = kind.ends_with("json") && kind != NDJSON;
        let body = if is_json { answer.json() } else { Value::from(answer.text()) };
        self.check_schema(&call, &format!("{content}/schema"), &body);
        if kind == NDJSON {
            self.check_lines(&answer.text());
        }
        if kind == "application/problem+json" {
            assert_eq!(body["status"], status, "{call}: {body}");
        }
    }

    fn check_headers(&self, call: &str, response: &str, answer: &Answer) {
        assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "{call} has no request id");
        let documented = self.document.pointer(&format!("{response}/headers"));
        for name in documented.and_then(Value::as_object).into_iter().flat_map(|headers| headers.keys()) {
            let pointer = self.resolve(&format!("{response}/headers/{name}"));
            let is_optional = self.document.pointer(&format!("{pointer}/required")) == Some(&Value::Bool(false));
            let Some(value) = answer.header(name) else {
                assert!(is_optional, "{call} has no {name}");
                continue;
            };
            let is_number = self.document.pointer(&format!("{pointer}/schema/type")).is_some_and(|t| t == "integer");
            let value =
                if is_number { value.parse::<u64>().map_or(Value::from(value), Value::from) } else { value.into() };
            self.check_schema(&format!("{call} {name}"), &format!("{pointer}/schema"), &value);
        }
    }

    fn check_schema(&self, call: &str, pointer: &str, value: &Value) {
        let validator = self.validator(pointer);
        let faults: Vec<_> = validator.iter_errors(value).map(|e| format!("{} at {}", e, e.instance_path())).collect();
        assert!(faults.is_empty(), "{call} breaks the contract:\n{}\n{value}", faults.join("\n"));
    }

    /// Whether an operation says that it takes such a body.
    pub fn accepts(&self, method: &str, template: &str, kind: &str, body: &Value) -> bool {
        let content = format!("/paths/{}/{}/requestBody/content", escaped(template), method.to_lowercase());
        self.validator(&format!("{content}/{}/schema", escaped(kind))).is_valid(body)
    }

    /// The routes that say something of a reservation: only they take the text of a beacon.
    pub fn settle_calls(&self) -> impl Iterator<Item = &str> {
        let paths = self.document["paths"].as_object().expect("paths").iter();
        let takes_beacons = |item: &Value| item.pointer("/post/requestBody/content/text~1plain").is_some();
        paths.filter(move |(_, item)| takes_beacons(item)).map(|(template, _)| template.as_str())
    }

    /// What such a call needs besides the reservation is as in its example. `None`: it is no such call.
    pub fn settle_body(&self, method: &str, template: &str, reservation: &str) -> Option<Value> {
        self.settle_calls().find(|call| method == "POST" && *call == template)?;
        let content = &self.document["paths"][template]["post"]["requestBody"]["content"]["application/json"];
        let mut body = content["examples"]["one"]["value"].clone();
        body["reservation"] = Value::from(reservation);
        Some(body)
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        let mut compiled = self.compiled.lock().expect("no validator panics");
        if let Some(validator) = compiled.get(pointer) {
            return validator.clone();
        }
        // The whole document is the schema's resource, so that its references find their ends.
        let mut root = self.document.clone();
        root["$ref"] = Value::from(format!("#{}", pointer.replace('{', "%7B").replace('}', "%7D")));
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        let validator = Arc::new(options.build(&root).unwrap_or_else(|e| panic!("{pointer} is no schema: {e}")));
        compiled.insert(pointer.to_owned(), validator.clone());
        validator
    }
}

fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

impl Contract {
    /// Every answer of every operation: method, path template, status, and the pointer of what it must look like.
    pub fn answers(&self) -> Vec<(String, String, u16, String)> {
        let mut answers = Vec::new();
        for (template, item) in self.document["paths"].as_object().expect("paths") {
            let methods = item.as_object().expect("operations").keys().filter(|key| *key != "parameters");
            for method in methods {
                let responses = format!("/paths/{}/{method}/responses", escaped(template));
                for status in self.document.pointer(&responses).and_then(Value::as_object).expect("responses").keys() {
                    let pointer = self.resolve(&format!("{responses}/{status}"));
                    let number = status.parse().expect("a status");
                    answers.push((method.to_uppercase(), template.clone(), number, pointer));
                }
            }
        }
        answers
    }

    /// The problems that a response may be.
    pub fn problems(&self, response: &str) -> Vec<String> {
        let schema =
            self.document.pointer(&format!("{response}/content/application~1problem+json/schema/properties/type"));
        let Some(schema) = schema else { return Vec::new() };
        let words = schema["enum"].as_array().cloned().unwrap_or_else(|| vec![schema["const"].clone()]);
        words.iter().filter_map(|word| word.as_str()?.strip_prefix("/problems/").map(str::to_owned)).collect()
    }

    /// # Panics
    /// When an example is not what the schema beside it says.
    pub fn check_examples(&self) {
        for (method, path, status, response) in self.answers() {
            let contents = self.document.pointer(&format!("{response}/content")).and_then(Value::as_object);
            assert_eq!(contents.is_none(), status == 304, "{method} {path} {status}: a body, and an example of it");
            // Bytes cannot be written down in it.
            let written = contents.into_iter().flatten().filter(|(kind, _)| *kind != "application/octet-stream");
            for (kind, content) in written {
                let schema = format!("{response}/content/{}/schema", escaped(kind));
                for (name, example) in content["examples"].as_object().expect("examples") {
                    self.check_schema(&format!("{method} {path} {status} {name}"), &schema, &example["value"]);
                }
            }
        }
    }
}
