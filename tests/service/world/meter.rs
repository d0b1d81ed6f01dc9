//! Counts the Redis commands of each script by `MONITOR`.

use std::{collections::BTreeMap, fmt};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

use super::{World, engine::Engine};

/// What one script may ask for, and how many payloads and results it may read.
const MAX_CALLS_PER_SCRIPT: usize = 250;
const MAX_BODIES_PER_SCRIPT: usize = 100;

/// One script as it ran.
#[derive(Debug, Clone, Default)]
pub struct ScriptRun {
    /// The keys that it was given, to identify it in messages.
    keys: String,
    pub calls: usize,
    /// Payloads and results.
    pub bodies: usize,
    words: BTreeMap<String, usize>,
}

impl ScriptRun {
    /// Whether it was given the form of a queue.
    pub fn reads_a_form(&self) -> bool {
        self.keys.split(' ').any(|key| key == "form")
    }
}

impl fmt::Display for ScriptRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls, {} bodies: {:?} on {}", self.calls, self.bodies, self.words, self.keys)
    }
}

/// Reads the output of `MONITOR`.
pub struct Meter {
    lines: BufReader<UnixStream>,
    marks: usize,
}

impl World {
    pub async fn meter(&self) -> Meter {
        let mut socket = UnixStream::connect(self.engine.socket()).await.expect("a Redis");
        socket.write_all(b"MONITOR\r\n").await.expect("a Redis that listens");
        let mut meter = Meter { lines: BufReader::new(socket), marks: 0 };
        assert_eq!(meter.line().await, b"+OK");
        meter
    }
}

impl Meter {
    async fn line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.lines.read_until(b'\n', &mut line).await.expect("a line");
        line.truncate(line.len().saturating_sub(2));
        line
    }

    /// All scripts that ran since the last call.
    pub async fn script_runs(&mut self, engine: &Engine) -> Vec<ScriptRun> {
        self.marks += 1;
        let mark = format!("mark-{}", self.marks);
        let mut ask = tokio::spawn({
            let (mut connection, mark) = (engine.connection(), mark.clone());
            async move { redis::cmd("ECHO").arg(mark).query_async::<String>(&mut connection).await.expect("an echo") }
        });
        let mut ran = Vec::<ScriptRun>::new();
        loop {
            let line = self.line().await;
            let (is_inner, words) = parse_line(&line);
            match (is_inner, words[0].to_ascii_uppercase().as_str()) {
                (false, "ECHO") if words[1] == mark => break,
                (false, "FCALL" | "EVALSHA" | "EVAL") => {
                    ran.push(ScriptRun { keys: keys(&words), ..ScriptRun::default() })
                }
                (true, word) => {
                    let script = ran.last_mut().expect("a script before its calls");
                    script.calls += 1;
                    *script.words.entry(word.to_owned()).or_default() += 1;
                    if word.starts_with("HGET") || word == "HMGET" {
                        let is_body = [":payloads", ":results"].iter().any(|kind| words[1].ends_with(kind));
                        script.bodies += if is_body { words.len() - 2 } else { 0 };
                    }
                }
                (false, _) => {}
            }
        }
        (&mut ask).await.expect("an echo");
        ran
    }

    /// Panics if a script since the last call exceeded a limit.
    pub async fn assert_bounded(&mut self, what: &str, engine: &Engine) -> Vec<ScriptRun> {
        let ran = self.script_runs(engine).await;
        let max = ran.iter().max_by_key(|script| script.calls);
        let bodies = ran.iter().map(|script| script.bodies).max();
        println!(
            "{what}: {} scripts, at most {bodies:?} bodies; {}",
            ran.len(),
            max.map_or(String::new(), ScriptRun::to_string)
        );
        for script in &ran {
            assert!(
                script.calls <= MAX_CALLS_PER_SCRIPT && script.bodies <= MAX_BODIES_PER_SCRIPT,
                "{what}: one script made {script}"
            );
        }
        ran
    }
}

/// `+1763.12 [0 lua] "HGET" "a key" "a field"`: whether a script sent it, and its words.
fn parse_line(line: &[u8]) -> (bool, Vec<String>) {
    let from = line.iter().position(|&byte| byte == b'[').expect("whose it is");
    let to = line.iter().position(|&byte| byte == b']').expect("whose it is");
    let (mut words, mut word, mut in_word, mut escaped) = (Vec::new(), Vec::new(), false, false);
    for &byte in &line[to..] {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' if in_word => {
                words.push(String::from_utf8_lossy(&word).into_owned());
                word.clear();
                in_word = false;
            }
            b'"' => in_word = true,
            byte if in_word && word.len() < 100 => word.push(byte),
            _ => {}
        }
    }
    (line[from..to].ends_with(b"lua"), words)
}

/// The last part of each key's name.
fn keys(words: &[String]) -> String {
    let count = words[2].parse().expect("how many keys");
    let names = words[3..].iter().take(count).map(|key| key.rsplit(':').next().unwrap_or_default());
    names.collect::<Vec<_>>().join(" ")
}
