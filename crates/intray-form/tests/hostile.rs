//! Forms and results by which a caller would make the service work longest take linear time.

#[path = "hostile/list.rs"]
mod list;
#[path = "hostile/time.rs"]
mod time;

use std::hint::black_box;

use intray_form::{Form, Owner, limits};
use list::{HostileForm, HostileResult};
use time::least;

fn form(text: &str) -> Form {
    Form::parse(text, Owner::Queue).unwrap_or_else(|error| panic!("{error:?}: {text}"))
}

/// Four times the text may take eight times as long; a square would take sixteen times.
#[test]
fn check_of_hostile_results_takes_linear_time() {
    for HostileResult { name, form: text, write } in list::results() {
        let form = form(&text);
        let [small, large] = [64 * 1024, 256 * 1024].map(|size| {
            let result = write(size);
            assert!(result.len().abs_diff(size) < size / 8, "{name}: {} bytes", result.len());
            least(|| drop(black_box(form.check(black_box(&result)))))
        });
        println!("{small:>12.1?} for 64 KiB, {large:>12.1?} for 256 KiB: {name}");
        assert!(large < small * 8, "{name}: {small:?}, then {large:?}");
    }
}

/// Four times the form may take twelve times as long; a square would take sixteen times, a cube sixty-four.
#[test]
fn hostile_forms_are_read_in_linear_time() {
    for HostileForm { name, write } in list::forms() {
        let [small, large] = [limits::FORM / 4, limits::FORM - 128].map(|size| {
            let text = write(size);
            assert!(text.len() <= limits::FORM && text.len() > size / 2, "{name}: {} bytes", text.len());
            least(|| drop(black_box(Form::parse(black_box(&text), Owner::Queue))))
        });
        println!("{small:>12.1?} for 4 KiB, {large:>12.1?} for 16 KiB: {name}");
        assert!(large < small * 12, "{name}: {small:?}, then {large:?}");
    }
}
