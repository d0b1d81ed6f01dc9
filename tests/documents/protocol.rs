//! The page of calls and answers is generated from the contract: `make protocol` writes it.

use std::{collections::BTreeSet, fmt::Write, fs};

use serde_json::{Map, Value};

use super::{
    routes::{contract, roles_of},
    tree::{self, read},
};

const PAGE: &str = "docs/protocol.md";
const BEGIN: &str = "<!-- from openapi.yaml: make protocol -->\n";
const END: &str = "<!-- end of what make protocol wrote -->\n";
/// The tags of the contract, and their titles here.
const TAGS: [(&str, &str); 4] = [
    ("producing", "Producing"),
    ("consuming", "Working"),
    ("operating", "Operating"),
    ("health", "Watching, and what there is to read"),
];
/// Refusals of most calls, listed once, by their names in the contract.
const COMMON: [&str; 8] = [
    "NotJson",
    "Unauthorized",
    "Forbidden",
    "TooLarge",
    "UnsupportedMediaType",
    "InvalidRequest",
    "RateLimited",
    "Unavailable",
];
const DEPTH: usize = 8;

#[test]
fn protocol_page_is_generated_from_the_contract() {
    let page = read(PAGE);
    let (head, rest) = page.split_once(BEGIN).expect("where the calls begin");
    let (written, tail) = rest.split_once(END).expect("where they end");
    let made = Protocol(contract()).calls();
    if std::env::var_os("INTRAY_WRITE_PROTOCOL").is_some() {
        return fs::write(tree::root().join(PAGE), [head, BEGIN, &made, END, tail].concat()).expect("written");
    }
    let differs = written.lines().zip(made.lines()).find(|(written, made)| written != made);
    assert!(written == made, "{PAGE} is not what openapi.yaml says; `make protocol` writes it. {differs:?}");
}

#[test]
fn protocol_page_lists_every_answer() {
    let (contract, page) = (contract(), read(PAGE));
    let mut answers = 0;
    for (path, item) in contract["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("calls").iter().filter(|(key, _)| *key != "parameters") {
            let title = format!("### {} {path}\n", method.to_uppercase());
            let call = page.split_once(&title).unwrap_or_else(|| panic!("{PAGE} has no {title}")).1;
            let call = call.split("\n#").next().unwrap_or_default();
            for status in operation["responses"].as_object().expect("answers").keys() {
                assert!(call.contains(status), "{PAGE} has no {status} of {title}");
                answers += 1;
            }
        }
    }
    assert!(answers > 200, "{answers} answers");
}

struct Protocol(Value);

impl Protocol {
    fn calls(&self) -> String {
        let mut page = self.common();
        for (tag, title) in TAGS {
            let _ = write!(page, "\n## {title}\n");
            self.of(tag).iter().for_each(|(method, path, call)| self.call(&mut page, method, path, call));
        }
        page
    }

    /// The calls of a tag, in the order of the contract.
    fn of(&self, tag: &str) -> Vec<(String, String, &Map<String, Value>)> {
        let text = read("openapi.yaml");
        let mut calls = Vec::new();
        for (path, item) in self.0["paths"].as_object().expect("paths") {
            for (method, call) in item.as_object().expect("calls").iter().filter(|(key, _)| *key != "parameters") {
                if call["tags"][0].as_str() == Some(tag) {
                    calls.push((method.to_uppercase(), path.clone(), call.as_object().expect("a call")));
                }
            }
        }
        let place = |call: &Map<String, Value>| text.find(&format!("operationId: {}\n", call["operationId"].as_str()?));
        calls.sort_by_key(|(_, _, call)| place(call));
        calls
    }

    /// The answers that most calls share.
    fn common(&self) -> String {
        let mut page = "| status | problem | meaning |\n|---|---|---|\n".to_owned();
        let used = references(&self.0["paths"]);
        let all = self.0["components"]["responses"].as_object().expect("answers");
        let of_any_call = all.keys().map(String::as_str).filter(|name| !used.contains(*name));
        let mut answers: Vec<_> =
            COMMON.into_iter().chain(of_any_call).map(|name| (status(&all[name]), &all[name])).collect();
        answers.sort_by_key(|(status, _)| *status);
        for (status, answer) in answers {
            let _ = writeln!(page, "| {status} | {} | {} |", slugs(answer), describe(answer));
        }
        page
    }

    fn call(&self, page: &mut String, method: &str, path: &str, call: &Map<String, Value>) {
        let roles = match roles_of(&call["security"]).as_slice() {
            [] => "everyone".to_owned(),
            roles => roles.join(", "),
        };
        let summary = call["summary"].as_str().unwrap_or_default();
        let _ = write!(page, "\n### {method} {path}\n\n{summary}. Roles: {roles}.\n\n");
        let parameters = self.parameters(path, call);
        if !parameters.is_empty() {
            let _ = writeln!(page, "- with {}", ticked(&parameters));
        }
        if let Some(body) = call.get("requestBody") {
            let _ = writeln!(page, "- takes {}", self.content(body));
        }
        let mut common = Vec::new();
        for (status, answer) in call["responses"].as_object().expect("answers") {
            let name = answer["$ref"].as_str().and_then(|name| name.rsplit('/').next());
            if name.is_some_and(|name| COMMON.contains(&name)) {
                common.push(status.as_str());
                continue;
            }
            let answer = self.resolved(answer);
            let what = if status.starts_with('2') { self.content(answer) } else { slugs(answer) };
            let _ = writeln!(page, "- **{status}** {what}: {}", describe(answer));
        }
        if !common.is_empty() {
            let _ = writeln!(page, "- common: {}", common.join(", "));
        }
    }

    /// Parameters of the path, the query and the headers.
    fn parameters(&self, path: &str, call: &Map<String, Value>) -> Vec<String> {
        let lists = [&self.0["paths"][path]["parameters"], call.get("parameters").unwrap_or(&Value::Null)];
        let all = lists.into_iter().filter_map(Value::as_array).flatten();
        all.filter_map(|one| self.resolved(one)["name"].as_str().map(str::to_owned)).collect()
    }

    /// The fields of a body, or its type.
    fn content(&self, of: &Value) -> String {
        let Some(content) = of.get("content").and_then(Value::as_object) else { return "nothing".to_owned() };
        match content.get("application/json") {
            Some(json) => {
                let mut fields = BTreeSet::new();
                self.fields(&json["schema"], DEPTH, &mut fields);
                let fields: Vec<_> = fields.into_iter().collect();
                if fields.is_empty() { "an empty body".to_owned() } else { ticked(&fields) }
            }
            None => ticked(&content.keys().cloned().collect::<Vec<_>>()),
        }
    }

    /// The fields of an object, of each alternative, or of list items.
    fn fields(&self, schema: &Value, depth: usize, into: &mut BTreeSet<String>) {
        let schema = self.resolved(schema);
        if depth == 0 {
            return;
        }
        into.extend(schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned());
        let several = ["oneOf", "anyOf", "allOf"].iter().filter_map(|word| schema[word].as_array()).flatten();
        several.chain(schema.get("items")).for_each(|one| self.fields(one, depth - 1, into));
    }

    fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        let target = value["$ref"].as_str().and_then(|target| self.0.pointer(target.strip_prefix('#')?));
        target.map_or(value, |target| self.resolved(target))
    }
}

/// The names of referenced answers.
fn references(value: &Value) -> BTreeSet<String> {
    let text = value.to_string();
    let names = text.split("#/components/responses/").skip(1).filter_map(|rest| rest.split('"').next());
    names.map(str::to_owned).collect()
}

/// The problems of an answer.
fn slugs(answer: &Value) -> String {
    let text = answer.to_string();
    let each = text.split("/problems/").skip(1);
    let slugs = each.map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect::<String>());
    let slugs: BTreeSet<_> = slugs.filter(|slug| !slug.is_empty()).collect();
    if slugs.is_empty() { "nothing".to_owned() } else { ticked(&slugs.into_iter().collect::<Vec<_>>()) }
}

/// The status of a refusal, from its first example.
fn status(answer: &Value) -> u64 {
    let examples = answer["content"]["application/problem+json"]["examples"].as_object();
    let first = examples.and_then(|examples| examples.values().next());
    first.and_then(|example| example["value"]["status"].as_u64()).unwrap_or_default()
}

/// The description, in one line.
fn describe(answer: &Value) -> String {
    answer["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn ticked(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
