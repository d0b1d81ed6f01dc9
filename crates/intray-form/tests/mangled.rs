//! Forms and results with a piece of another in the wrong place: they are taken or refused, within the limits.

use fastrand::Rng;
use intray_form::{Form, FormFault, Owner, limits};
use serde::Deserialize;
use serde_json::value::RawValue;

const ROUNDS: usize = 5_000;

#[derive(Deserialize)]
struct ValidCases {
    forms: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    form: Box<RawValue>,
    valid: Vec<String>,
}

/// A text with a piece of another in place of a piece of its own: one string, so that it stays JSON, or any few bytes.
fn mangled(rng: &mut Rng, text: &str, other: &str) -> String {
    let keeps_json = rng.u8(..) > 32;
    let mut piece = |text: &str| {
        let quotes: Vec<_> = text.match_indices('"').map(|(at, _)| at).collect();
        if keeps_json && quotes.len() > 1 {
            let string = rng.usize(..quotes.len() / 2) * 2;
            return quotes[string]..quotes[string + 1] + 1;
        }
        let ends: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let from = rng.usize(..ends.len());
        ends[from]..ends[(from + rng.usize(..12)).min(ends.len() - 1)]
    };
    let (out, into) = (piece(text), piece(other));
    format!("{}{}{}", &text[..out.start], &other[into], &text[out.end..])
}

fn assert_within_limits(faults: &[FormFault], text: &str) {
    assert!(faults.len() <= limits::FAULTS, "{text}");
    for fault in faults {
        let is_pointer = fault.pointer.is_empty() || fault.pointer.starts_with('/');
        assert!(is_pointer && fault.pointer.len() <= limits::POINTER, "{fault:?} of {text}");
        assert!(!fault.detail.is_empty() && fault.detail.chars().count() <= limits::DETAIL, "{fault:?} of {text}");
    }
}

#[test]
fn mangled_forms_and_results_are_taken_or_refused() {
    let cases: ValidCases = serde_json::from_str(include_str!("../../../tests/forms/cases.json")).expect("cases");
    let mut rng = Rng::with_seed(43);
    let (mut taken, mut refused, mut fitting, mut wrong) = (0, 0, 0, 0);
    for _ in 0..ROUNDS {
        let [one, other] = [(); 2].map(|()| &cases.forms[rng.usize(..cases.forms.len())]);
        let text = mangled(&mut rng, one.form.get(), other.form.get());
        let form = match Form::parse(&text, Owner::Queue) {
            Ok(form) => form,
            Err(error) => {
                assert!(!error.0.is_empty(), "{text}");
                assert_within_limits(&error.0, &text);
                refused += 1;
                continue;
            }
        };
        taken += 1;
        let [result, piece] = [one, other].map(|case| &case.valid[rng.usize(..case.valid.len())]);
        for result in [result, &mangled(&mut rng, result, piece)] {
            let faults = form.check(result);
            assert_within_limits(&faults, result);
            *(if faults.is_empty() { &mut fitting } else { &mut wrong }) += 1;
        }
    }
    for count in [taken, refused, fitting, wrong] {
        assert!(count > ROUNDS / 20, "{taken} taken, {refused} refused, {fitting} fit, {wrong} do not");
    }
}
