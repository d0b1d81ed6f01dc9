//! The curl calls printed in the README and under `docs/` are run line by line.

use std::{path::Path, process::Stdio};

use serde_json::{Value, json};

use crate::world::{ChildProcess, World, access, eventually, free_port, json::lenient, missing, output, tool};

/// The address of the service in the documents.
const PRINTED: &str = "http://127.0.0.1:7070";
/// Separates the output of one command from the next.
const MARK: &str = "\u{1}";

/// In the order of a new reader.
#[tokio::test]
async fn readme_and_tour_calls_return_the_printed_answers() {
    let w = World::start_process().await;
    assert_as_printed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")), &w, w.folder()).await;
    assert_as_printed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tour.md")), &w, w.folder()).await;
    w.check().await;
}

#[tokio::test]
async fn bulk_calls_return_the_printed_answers() {
    let w = World::start_process().await;
    assert_as_printed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/bulk.md")), &w, w.folder()).await;
    w.check().await;
}

#[tokio::test]
async fn routing_calls_return_the_printed_answers() {
    let w = World::start_process().await;
    assert_as_printed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/routing.md")), &w, w.folder()).await;
    w.check().await;
}

#[tokio::test]
async fn desk_calls_return_the_printed_answers() {
    let w = World::start_process().await;
    assert_as_printed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/desk.md")), &w, w.folder()).await;
    w.check().await;
}

#[tokio::test]
async fn opinions_calls_return_the_printed_answers() {
    let w = World::start_process().await;
    assert_as_printed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/opinions.md")), &w, w.folder()).await;
    w.check().await;
}

/// In an empty folder, as printed: keys, the service, the console's sign-in, the backend, the page.
#[tokio::test]
async fn start_page_works_in_an_empty_folder() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/start.md"));
    let folder = tempfile::tempdir().expect("a folder");
    let (before, after) = page.split_once("\nintray serve ").expect("where it is served");
    shell(&commands(before).0, folder.path()).await;
    let mut words = after.lines().next().expect("flags").split(' ');
    let mut plan = World::plan().own_process();
    while let (Some(flag), Some(value)) = (words.next(), words.next()) {
        let file = folder.path().join(value);
        plan = plan.flag(flag, if file.exists() { file.to_str().expect("UTF-8") } else { value });
    }
    let w = plan.start().await;
    let (calls, by_hand) = after.split_once("\n## The backend\n").expect("a backend");
    assert_as_printed(calls, &w, folder.path()).await;
    saved(by_hand, &w, folder.path());
    let site = free_port();
    let at = |text: &str| text.replace("8000", &site.to_string());
    let backend = folder.path().join("backend.py");
    std::fs::write(&backend, at(&std::fs::read_to_string(&backend).expect("it is saved"))).expect("written");
    let mut python = tool("python3");
    python.arg("backend.py").current_dir(folder.path()).stderr(Stdio::null());
    let _backend = ChildProcess::spawn(python);
    let site = format!("http://localhost:{site}");
    eventually("the backend serves", async || std::net::TcpStream::connect(&site[7..]).ok()).await;
    let seen = shell(&format!("curl -sS {site}/; curl -sS {site}/../site.key {site}/site.key"), folder.path()).await;
    let key = std::fs::read_to_string(folder.path().join("site.key")).expect("a key");
    assert!(seen.contains("new Intray(") && !seen.contains(key.lines().next().expect("a line")), "{seen}");
    assert_as_printed(&at(by_hand), &w, folder.path()).await;
    let operator = std::fs::read_to_string(folder.path().join("operator.key")).expect("a key");
    let operator = format!("Bearer {}", operator.lines().next().expect("a line"));
    let paused = w
        .request("PATCH", "/queues/reviews")
        .header("authorization", &operator)
        .json(json!({ "paused": true }).to_string());
    assert_eq!(
        paused.send().await.is(200)["settings"]["paused"],
        true,
        "the operator's key is for all that the console does"
    );
}

/// In an empty folder, as printed: the file, the service, the receiver of the reader, and a delivery that it prints.
#[tokio::test]
async fn webhooks_page_delivers_to_the_receiver_of_the_reader() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/webhooks.md"));
    let page = page.replace(":9000", &format!(":{}", free_port())).replace(", 9000))", ", 0))");
    let port = page.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    let (before, after) = page.split_once("\nintray serve --webhooks-file ").expect("where it is served");
    shell(&commands(before).0, folder.path()).await;
    let file = folder.path().join(after.lines().next().expect("a file"));
    let w = World::plan().own_process().flag("--webhooks-file", file.to_str().expect("UTF-8")).start().await;
    saved(&page, &w, folder.path());
    assert_as_printed(
        &after.replace("env/bin/python webhook", &format!("PORT={port} env/bin/python webhook")),
        &w,
        folder.path(),
    )
    .await;
    let delivered = std::fs::read_to_string(folder.path().join("deliveries.txt")).expect("what it printed");
    let events: Vec<_> = delivered.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(events, ["listens", "intray.test", "job.completed"], "{delivered}");
    w.check().await;
}

/// Writes each block that a page says to save, with its file name.
pub fn saved(page: &str, w: &World, folder: &Path) {
    let (page, mut count) = (page.replace("Save\nthis as", "Save this as"), 0);
    for part in page.split("Save this as `").skip(1) {
        let (name, rest) = part.split_once("`:\n\n```").expect("a name, and a block");
        let text = rest.split_once('\n').and_then(|(_, rest)| rest.split("\n```").next()).expect("a block");
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, text.replace(PRINTED, w.base())).expect("written");
        count += 1;
    }
    assert!(count > 0, "the page says to save something");
}

/// The commands of the alerts page: one call each, and none is refused.
#[tokio::test]
async fn calls_of_the_alerts_page_succeed() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/alerts.md"));
    let ask = page.lines().find(|line| line.starts_with("ask() {")).expect("what the calls are made with");
    let folder = tempfile::tempdir().expect("a folder");
    shell("intray webhook shop http://127.0.0.1:1/ 'reviews*' completed > webhooks.txt", folder.path()).await;
    let webhooks = folder.path().join("webhooks.txt");
    let w = World::plan()
        .own_process()
        .with_keys(&[])
        .flag("--webhooks-file", webhooks.to_str().expect("UTF-8"))
        .start()
        .await;
    let id = w.enqueue_with(json!({ "queue": "reviews", "payload": 1 })).await;
    let calls: Vec<_> = page.split('`').skip(1).step_by(2).filter(|words| words.starts_with("ask ")).collect();
    assert!(calls.len() > 10, "{calls:?}");
    let strict = ask.replace("curl -sS", "curl -sS --fail-with-body");
    assert_ne!(strict, ask, "a refusal ends the script");
    let calls = calls.join("\n").replace("/jobs/ID", &format!("/jobs/{id}"));
    let who = format!("URL={} KEY={}", w.base(), access::key("root"));
    shell(&format!("{who}\n{strict}\n{calls}"), w.folder()).await;
    w.check().await;
}

/// Runs the commands of a page that prints several answers, and compares each answer with the printed one.
async fn assert_as_printed(page: &str, w: &World, folder: &Path) {
    let answers = commands(page).1.len();
    assert!(answers >= 3, "the page has answers: {answers}");
    run_as_printed(page, w, folder).await;
}

/// Runs the commands of a part of a page, and compares each answer with the printed one.
pub async fn run_as_printed(page: &str, w: &World, folder: &Path) {
    let (script, expected) = commands(page);
    let printed = shell(&script.replace(PRINTED, w.base()), folder).await;
    let answers: Vec<_> = printed.split(MARK).collect();
    for (expected, answer) in expected.iter().zip(&answers) {
        if expected.as_str() == Some(answer.trim()) {
            continue;
        }
        let value = lenient(answer.trim()).unwrap_or_else(|| panic!("{answer:?} is not JSON; expected {expected}"));
        if let Some(fault) = missing(&value, expected, "") {
            panic!("the page prints {expected}\nthe service  {value}\n{fault}");
        }
    }
    assert_eq!(answers.len(), expected.len() + 1, "one answer per printed answer");
}

/// Runs a script in which `intray` is the program, and returns its output.
pub async fn shell(script: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_intray")).with_file_name("");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut bash = tool("bash");
    bash.args(["-eu", "-c", script]).current_dir(folder).env("PATH", path);
    let ran = tokio::task::spawn_blocking(move || output(bash)).await.expect("a thread");
    let printed = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(ran.status.success(), "{printed}\n{}", String::from_utf8_lossy(&ran.stderr));
    printed
}

/// The shell blocks of a page as one script that prints a mark after each command whose answer is shown, and the answers:
/// what is not JSON is a text.
fn commands(page: &str) -> (String, Vec<Value>) {
    let (mut script, mut expected, mut inside) = (String::new(), Vec::new(), false);
    for line in page.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match line.strip_prefix("# -> ") {
                Some(answer) => {
                    let is_json = answer.starts_with(['{', '[', '"']);
                    let text = || Ok(Value::from(answer));
                    let value = if is_json { serde_json::from_str(answer) } else { text() };
                    expected.push(value.unwrap_or_else(|e| panic!("{answer}: {e}")));
                    script.push_str(&format!("printf '{MARK}'\n"));
                }
                None => script.push_str(&format!("{line}\n")),
            },
        }
    }
    (script, expected)
}
