//! The official JSON-Schema-Test-Suite for 2020-12, in `tests/forms/suite`: a schema that is a form means here what it means there, and all
//! others are refused by name.

#[path = "suite/different.rs"]
mod different;

use std::{collections::BTreeSet, fs, path::Path};

use different::DIFFERENT;
use intray_form::{Form, FormFault, Owner, keywords, limits};
use serde::Deserialize;
use serde_json::{Value, json};

const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];

const COUNTS: SuiteCounts = SuiteCounts { compared: 354, other_type: 70, refused: 1_482 };

#[derive(Deserialize)]
struct SuiteGroup {
    description: String,
    schema: Value,
    tests: Vec<SuiteTest>,
}

#[derive(Deserialize)]
struct SuiteTest {
    description: String,
    data: Value,
    valid: bool,
}

/// How a schema of the suite becomes a form.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FormWay {
    Whole,
    /// As the only property.
    Property,
    /// As the only property, with what the suite leaves out: a type, that of members, and items, which are options.
    Typed(&'static str),
}

impl FormWay {
    fn all() -> impl Iterator<Item = Self> {
        [Self::Whole, Self::Property].into_iter().chain(TYPES.map(Self::Typed))
    }

    fn form(self, group: &SuiteGroup) -> Option<Value> {
        let mut schema = group.schema.clone();
        if self == Self::Whole {
            return Some(schema);
        }
        if let Self::Typed(name) = self {
            let members = schema.as_object_mut().filter(|members| !members.contains_key("type"))?;
            members.insert("type".to_owned(), json!(name));
            if name == "array" {
                members.entry("items").or_insert(json!({ "enum": group.items_as_texts() }));
            }
            for member in open_members(&group.schema) {
                members["properties"][member] = json!({ "type": "number" });
            }
        }
        let mut form = json!({ "type": "object" });
        for name in ["$schema", "$id", "$defs"] {
            if let Some(value) = schema.as_object_mut().and_then(|members| members.remove(name)) {
                form[name] = value;
            }
        }
        form["properties"] = json!({ "x": schema });
        Some(form)
    }

    fn result(self, group: &SuiteGroup, data: &Value) -> String {
        let texts: Vec<_> = items(data).iter().map(as_text).collect();
        match self {
            Self::Whole => data.to_string(),
            Self::Typed("array") if data.is_array() && group.schema.get("items").is_none() => {
                json!({ "x": texts }).to_string()
            }
            Self::Property | Self::Typed(_) => json!({ "x": data }).to_string(),
        }
    }

    /// What the suite says of this value, and what the way has added.
    fn expects(self, group: &SuiteGroup, test: &SuiteTest) -> bool {
        let has_number = |name: &str| test.data.get(name).is_none_or(Value::is_number);
        test.valid && self.compares(test) && (!self.is_typed() || open_members(&group.schema).all(has_number))
    }

    /// Whether the verdict is more than that the value is of another type.
    fn compares(self, test: &SuiteTest) -> bool {
        if let Self::Typed(name) = self { is_of(&test.data, name) } else { true }
    }

    fn is_typed(self) -> bool {
        matches!(self, Self::Typed(_))
    }
}

impl SuiteGroup {
    fn items_as_texts(&self) -> BTreeSet<String> {
        self.tests.iter().flat_map(|test| items(&test.data)).map(as_text).chain(["an option".to_owned()]).collect()
    }
}

/// The properties that may be anything.
fn open_members(schema: &Value) -> impl Iterator<Item = &str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let open = [json!({}), json!(true)];
    properties.into_iter().flatten().filter(move |(_, schema)| open.contains(schema)).map(|(name, _)| name.as_str())
}

/// Equal values as equal texts, others as others.
fn as_text(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{:?}", number.as_f64()),
        Value::Array(items) => format!("[{}]", items.iter().map(as_text).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let members: Vec<_> = members.iter().map(|(name, value)| format!("{name:?}:{}", as_text(value))).collect();
            format!("{{{}}}", members.join(","))
        }
        _ => value.to_string(),
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// By file, without its ending.
fn suite() -> Vec<(String, Vec<SuiteGroup>)> {
    fn collect(folder: &Path, under: &str, files: &mut Vec<(String, Vec<SuiteGroup>)>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let name = entry.file_stem().expect("a name").to_string_lossy().into_owned();
            if entry.is_dir() {
                collect(&entry, &format!("{under}{name}/"), files);
            } else if entry.extension().is_some_and(|ending| ending == "json") {
                let text = fs::read_to_string(&entry).expect("a text");
                files.push((format!("{under}{name}"), serde_json::from_str(&text).expect("groups")));
            }
        }
    }
    let mut files = Vec::new();
    collect(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/forms/suite")), "", &mut files);
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    files
}

/// Each place is in the form, and each keyword that no form has is among them.
fn assert_by_name(faults: &[FormFault], way: FormWay, form: &Value) {
    for FormFault { pointer, detail } in faults {
        let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        assert!(form.pointer(pointer).or(form.pointer(parent)).is_some(), "{pointer}: {detail} of {form}");
    }
    if !way.is_typed() {
        return;
    }
    let unknown = |name: &&String| keywords().iter().all(|keyword| keyword.name != *name);
    for name in form["properties"]["x"].as_object().expect("a schema").keys().filter(unknown) {
        let pointer = format!("/properties/x/{}", name.replace('~', "~0").replace('/', "~1"));
        let is_named = |fault: &FormFault| fault.pointer == pointer && fault.detail.contains(&format!("`{name}`"));
        assert!(faults.len() == limits::FAULTS || faults.iter().any(is_named), "{name}: {faults:?} of {form}");
    }
}

/// How many tests of a file were compared, have a value of another type in each way that is taken, or a schema that is refused.
#[derive(Default, PartialEq, Debug)]
struct SuiteCounts {
    compared: usize,
    other_type: usize,
    refused: usize,
}

/// Runs a group in all ways. Adds to the counts, and returns the tests that differ.
fn run<'g>(group: &'g SuiteGroup, counts: &mut SuiteCounts) -> Vec<&'g str> {
    let (mut is_taken, mut is_compared) = (false, vec![false; group.tests.len()]);
    let mut different = Vec::new();
    for (way, form) in FormWay::all().filter_map(|way| Some((way, way.form(group)?))) {
        let parsed = match Form::parse(&form.to_string(), Owner::Queue) {
            Ok(parsed) => parsed,
            Err(error) => {
                assert_by_name(&error.0, way, &form);
                continue;
            }
        };
        is_taken = true;
        for (test, is_compared) in group.tests.iter().zip(&mut is_compared) {
            *is_compared |= way.compares(test);
            if parsed.check(&way.result(group, &test.data)).is_empty() != way.expects(group, test) {
                different.push(test.description.as_str());
            }
        }
    }
    let compared = is_compared.iter().filter(|&&is_compared| is_compared).count();
    let others = group.tests.len() - compared;
    counts.compared += compared;
    *(if is_taken { &mut counts.other_type } else { &mut counts.refused }) += others;
    different
}

#[test]
fn schemas_that_are_taken_agree_with_the_official_suite() {
    let (suite, mut sum) = (suite(), SuiteCounts::default());
    let mut differences = BTreeSet::new();
    for (file, groups) in &suite {
        let mut counts = SuiteCounts::default();
        for group in groups {
            let different = run(group, &mut counts).into_iter();
            differences.extend(different.map(|test| (file.as_str(), group.description.as_str(), test)));
        }
        let SuiteCounts { compared, other_type, refused } = counts;
        println!("{compared:5} compared, {other_type:4} of another type, {refused:4} refused: {file}");
        sum.compared += compared;
        sum.other_type += other_type;
        sum.refused += refused;
    }
    println!("{sum:?}, {} of them different", differences.len());
    let reasons: BTreeSet<_> = DIFFERENT.iter().flat_map(|(_, tests)| *tests).copied().collect();
    let unknown: Vec<_> = differences.difference(&reasons).collect();
    assert!(unknown.is_empty(), "the suite says otherwise: {unknown:#?}");
    let gone: Vec<_> = reasons.difference(&differences).collect();
    assert!(gone.is_empty(), "the suite says the same: {gone:#?}");
    assert_eq!(sum, COUNTS);
}
