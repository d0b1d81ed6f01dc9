//! What the worst results and forms cost: `cargo bench -p intray-form`. A check of 256 KiB takes 5 ms at most.

#[path = "../tests/hostile/list.rs"]
mod list;
#[path = "../tests/hostile/time.rs"]
mod time;

use std::{hint::black_box, time::Duration};

use intray_form::{Form, Owner, limits};
use list::{HostileForm, HostileResult};
use time::least;

const RESULT: usize = 256 * 1024;
const LIMIT: Duration = Duration::from_millis(5);

fn print(name: &str, took: Duration) {
    let note = if took > LIMIT { "  over 5 ms" } else { "" };
    println!("{:>9.3} ms  {name}{note}", took.as_secs_f64() * 1e3);
}

fn main() {
    println!("Checks of results of {} KiB:", RESULT / 1024);
    for HostileResult { name, form, write } in list::results() {
        let (form, result) = (Form::parse(&form, Owner::Queue).expect("a form"), write(RESULT));
        print(name, least(|| drop(black_box(form.check(black_box(&result))))));
    }
    println!("\nForms of {} KiB:", limits::FORM / 1024);
    for HostileForm { name, write } in list::forms() {
        let text = write(limits::FORM - 128);
        print(name, least(|| drop(black_box(Form::parse(black_box(&text), Owner::Queue)))));
    }
}
