//! The scripts of a program, as it gives them to a Redis.

use std::{collections::BTreeMap, path::Path};

use redis::Value;

use crate::mirror::Allowances;
use crate::world::{ChildProcess, Engine, eventually, tool};

/// `intray_`, a digest of sixteen digits, `_`; after it comes the name of a script.
const PREFIX_LEN: usize = 24;

#[derive(Debug, Clone)]
pub struct Library {
    name: String,
    pub code: String,
    keys: ScriptKeys,
    /// Where it may differ from the scripts of this program.
    pub allowed: Allowances,
}

/// The names of the keys that each script takes, in order.
pub type ScriptKeys = BTreeMap<String, Vec<String>>;

/// Those of a library.
pub fn keys_of(code: &str) -> ScriptKeys {
    let lines = code.lines().zip(code.lines().skip(1));
    let of_line = |(head, body): (&str, &str)| {
        let (name, _) = head.strip_prefix("redis.register_function{function_name = '")?.split_once('\'')?;
        let (names, _) = body.split_once("keys[1], {")?.1.split_once('}')?;
        let names = names.split(", ").filter_map(|name| Some(name.split_once(" = ")?.0.to_owned()));
        Some((name.get(PREFIX_LEN..)?.to_owned(), names.collect()))
    };
    lines.filter_map(of_line).collect()
}

impl Library {
    /// That of another program, which is started for as long as it takes to load it.
    pub async fn of_program(program: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("intray-model-").tempdir().expect("a temporary folder");
        let engine = Engine::start(folder.path(), false).await;
        let mut command = tool(program);
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
        let code = field("library_code");
        Self { name: field("library_name"), keys: keys_of(&code), code, allowed: Allowances::default() }
    }

    /// The same, which may differ as tests/model/allowed.txt says.
    pub fn with_allowances(self) -> Self {
        let allowed = Allowances::of(&self.code);
        Self { code: allowed.edit(self.code), allowed, ..self }
    }

    /// The keys that a script of this library takes, of those that it is given by their names in another.
    pub fn keys(&self, script: &str, names: &[String], given: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let key = |name: &String| {
            let at = names.iter().position(|given| given == name);
            given[at.unwrap_or_else(|| panic!("only the older {script} takes {name}"))].clone()
        };
        self.keys[script].iter().map(key).collect()
    }

    /// A function without what stands before its name.
    pub fn plain_name(function: &[u8]) -> &[u8] {
        &function[PREFIX_LEN..]
    }

    /// What this library calls a function of another.
    pub fn named(&self, function: &[u8]) -> Vec<u8> {
        [self.name.as_bytes(), b"_", Self::plain_name(function)].concat()
    }
}

fn text(value: &Value) -> &[u8] {
    match value {
        Value::BulkString(bytes) => bytes,
        Value::SimpleString(text) => text.as_bytes(),
        _ => b"",
    }
}
