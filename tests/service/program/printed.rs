//! The calls by curl that the README and the tour print, run as they are, line by line.

use std::process::Command;

use serde_json::Value;

use crate::world::{World, json, missing};

/// Where they say that the service is.
const PRINTED: &str = "http://127.0.0.1:7070";
/// Between what one command prints and what the next does.
const MARK: &str = "\u{1}";

#[tokio::test]
async fn the_calls_of_the_readme_do_what_it_says() {
    as_printed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))).await;
}

#[tokio::test]
async fn the_tour_is_what_happens() {
    as_printed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tour.md"))).await;
}

async fn as_printed(page: &str) {
    let (script, expected) = commands(page);
    assert!(expected.len() >= 8, "the page has answers: {}", expected.len());
    let w = World::start().await;
    let script = script.replace(PRINTED, w.base());
    let mut bash = Command::new("bash");
    bash.args(["-eu", "-c", &script]).current_dir(w.folder());
    let ran = tokio::task::spawn_blocking(move || bash.output()).await.expect("a thread").expect("bash");
    let printed = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(ran.status.success(), "{printed}\n{}", String::from_utf8_lossy(&ran.stderr));
    let answers: Vec<_> = printed.split(MARK).collect();
    for (expected, answer) in expected.iter().zip(&answers) {
        let value =
            json::lenient(answer.trim()).unwrap_or_else(|| panic!("{answer:?} is not JSON; expected {expected}"));
        if let Some(fault) = missing(&value, expected, "") {
            panic!("the page says {expected}\nthe service  {value}\n{fault}");
        }
    }
    assert_eq!(answers.len(), expected.len() + 1, "an answer for each that is printed");
    w.check().await;
}

/// The shell blocks of a page as one script that prints a mark after each command whose answer is shown, and the answers.
fn commands(page: &str) -> (String, Vec<Value>) {
    let (mut script, mut expected, mut inside) = (String::new(), Vec::new(), false);
    for line in page.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match line.strip_prefix("# -> ") {
                Some(answer) => {
                    expected.push(serde_json::from_str(answer).unwrap_or_else(|e| panic!("{answer}: {e}")));
                    script.push_str(&format!("printf '{MARK}'\n"));
                }
                None => script.push_str(&format!("{line}\n")),
            },
        }
    }
    (script, expected)
}
