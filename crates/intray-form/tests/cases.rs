//! The cases that the service and the page share.

use intray_form::{Form, FormFault, Format, Owner, keywords, limits};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FormCases<'c> {
    #[serde(borrow)]
    forms: Vec<FormCase<'c>>,
    refused: Vec<RefusedForm>,
    formats: std::collections::BTreeMap<String, FormatTexts>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FormCase<'c> {
    name: String,
    /// The program that printed it.
    source: Option<String>,
    #[serde(default)]
    queue_only: bool,
    #[serde(borrow)]
    form: &'c RawValue,
    valid: Vec<String>,
    invalid: Vec<InvalidResult>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InvalidResult {
    result: String,
    /// In the order of the form.
    pointers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedForm {
    name: String,
    source: Option<String>,
    #[serde(default)]
    job_only: bool,
    form: String,
    pointer: String,
    detail_contains: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FormatTexts {
    valid: Vec<String>,
    invalid: Vec<String>,
}

fn cases() -> FormCases<'static> {
    serde_json::from_str(include_str!("../../../tests/forms/cases.json")).expect("cases")
}

/// Holds for all faults of all answers.
fn assert_bounded(faults: &[FormFault]) {
    assert!(faults.len() <= limits::FAULTS, "{}", faults.len());
    for fault in faults {
        assert!(fault.detail.chars().count() <= limits::DETAIL, "{fault:?}");
        assert!(fault.pointer.len() <= limits::POINTER, "{fault:?}");
    }
}

fn parsed(case: &FormCase) -> Form {
    let form = Form::parse(case.form.get(), Owner::Queue);
    form.unwrap_or_else(|error| panic!("{}: {error:?}", case.name))
}

#[test]
fn valid_results_fit_their_forms() {
    for case in cases().forms {
        let form = parsed(&case);
        assert!(!case.valid.is_empty(), "{}", case.name);
        for result in &case.valid {
            assert_eq!(form.check(result), [], "{}: {result}", case.name);
        }
    }
}

#[test]
fn invalid_results_are_refused_where_they_are_wrong() {
    for case in cases().forms {
        let form = parsed(&case);
        assert!(!case.invalid.is_empty(), "{}", case.name);
        for InvalidResult { result, pointers } in &case.invalid {
            let faults = form.check(result);
            assert_bounded(&faults);
            let mut found: Vec<_> = faults.iter().map(|fault| fault.pointer.clone()).collect();
            found.dedup();
            assert_eq!(&found, pointers, "{}: {result}: {faults:?}", case.name);
        }
    }
}

#[test]
fn forms_of_jobs_have_no_patterns() {
    for case in cases().forms {
        let form = Form::parse(case.form.get(), Owner::Job);
        assert_eq!(form.is_err(), case.queue_only, "{}: {form:?}", case.name);
    }
}

#[test]
fn other_schemas_are_refused_by_name() {
    for case in cases().refused {
        let owner = if case.job_only { Owner::Job } else { Owner::Queue };
        let faults = Form::parse(&case.form, owner).err().unwrap_or_else(|| panic!("{} is taken", case.name)).0;
        assert_bounded(&faults);
        let is_it = |fault: &FormFault| fault.pointer == case.pointer && fault.detail.contains(&case.detail_contains);
        assert!(faults.iter().any(is_it), "{}: {faults:#?}", case.name);
    }
}

#[test]
fn formats_follow_their_definitions() {
    let cases = cases().formats;
    assert_eq!(cases.len(), Format::ALL.len());
    for (name, texts) in cases {
        let format = Format::parse(&name).unwrap_or_else(|| panic!("{name}"));
        let wrong: Vec<_> = texts.valid.iter().filter(|text| !format.holds(text)).collect();
        assert!(wrong.is_empty(), "no {name}: {wrong:?}");
        let wrong: Vec<_> = texts.invalid.iter().filter(|text| format.holds(text)).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}

#[test]
fn forty_schemas_are_what_tools_print() {
    let cases = cases();
    let sources = cases.forms.iter().map(|case| &case.source).chain(cases.refused.iter().map(|case| &case.source));
    let printed: Vec<_> = sources.flatten().collect();
    assert!(printed.len() >= 40, "{}", printed.len());
    for tool in ["Pydantic", "Zod", "MCP"] {
        assert!(printed.iter().any(|source| source.starts_with(tool)), "{tool}");
    }
}

#[test]
fn each_keyword_is_in_a_case() {
    let cases = cases();
    let all: String = cases.forms.iter().map(|case| case.form.get()).collect();
    for keyword in keywords() {
        assert!(all.contains(&format!("\"{}\":", keyword.name)), "{}", keyword.name);
    }
}
