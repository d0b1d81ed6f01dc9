//! The scripts of a program, as it gives them to a Redis.

use std::{path::Path, process::Command};

use redis::Value;

use crate::world::{ChildProcess, Engine, eventually};

/// `intray_`, a digest of sixteen digits, `_`; after it comes the name of a script.
const PREFIX_LEN: usize = 24;

#[derive(Debug, Clone)]
pub struct Library {
    name: String,
    pub code: String,
}

impl Library {
    /// That of another program, which is started for as long as it takes to load it.
    pub async fn of_program(program: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("intray-model-").tempdir().expect("a temporary folder");
        let engine = Engine::start(folder.path(), false).await;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--redis-url", &engine.url()]);
        let _program = ChildProcess::spawn(command);
        eventually("the program loads its library", async || {
            let libraries: Vec<Vec<Value>> = engine.run("FUNCTION LIST WITHCODE").await;
            libraries.into_iter().next().map(|library| Self::of_list(&library))
        })
        .await
    }

    /// An entry of `FUNCTION LIST WITHCODE`.
    pub fn of_list(library: &[Value]) -> Self {
        let field = |name: &str| {
            let at = library.iter().position(|word| text(word) == name.as_bytes()).expect("a field of a library");
            String::from_utf8_lossy(text(&library[at + 1])).into_owned()
        };
        Self { name: field("library_name"), code: field("library_code") }
    }

    /// What this library calls a function of another.
    pub fn named(&self, function: &[u8]) -> Vec<u8> {
        [self.name.as_bytes(), b"_", &function[PREFIX_LEN..]].concat()
    }
}

fn text(value: &Value) -> &[u8] {
    match value {
        Value::BulkString(bytes) => bytes,
        Value::SimpleString(text) => text.as_bytes(),
        _ => b"",
    }
}
