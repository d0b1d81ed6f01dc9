//! Finds the program of the private server, and builds its arguments.

use std::{fmt, path::Path, process::Command};

use super::StartError;

/// In order of preference.
const NAMES: [&str; 2] = ["valkey-server", "redis-server"];
const MIN_VERSION: (u32, u32) = (7, 0);

/// A server program on PATH that is recent enough.
#[derive(Debug)]
pub(super) struct Engine {
    name: &'static str,
    version: String,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

pub(super) async fn find() -> Result<Engine, StartError> {
    let mut found = Vec::new();
    for name in NAMES {
        let Ok(output) = tokio::process::Command::new(name).arg("--version").output().await else { continue };
        let version = version(&String::from_utf8_lossy(&output.stdout)).unwrap_or_default().to_owned();
        if is_enough(&version) {
            return Ok(Engine { name, version });
        }
        found.push(format!("{name} {version}"));
    }
    let found = if found.is_empty() { "found none".to_owned() } else { format!("found {}", found.join(", ")) };
    Err(StartError::NoEngine { found })
}

/// `Redis server v=7.0.15 sha=00000000:0 malloc=…`
fn version(banner: &str) -> Option<&str> {
    banner.split_whitespace().find_map(|word| word.strip_prefix("v="))
}

fn is_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= MIN_VERSION
}

impl Engine {
    /// The program in the same folder that repairs append-only files.
    pub(super) fn checker(&self) -> &'static str {
        if self.name == "valkey-server" { "valkey-check-aof" } else { "redis-check-aof" }
    }

    /// All settings are arguments: without a configuration file, nothing else can change them.
    pub(super) fn command(&self, data: &Path, socket: &Path, max_memory: u64) -> Command {
        let mut command = Command::new(self.name);
        command.arg("--dir").arg(data).arg("--unixsocket").arg(socket);
        command.arg("--maxmemory").arg(max_memory.to_string());
        let settings = [
            ["--unixsocketperm", "700"],
            ["--port", "0"],
            ["--appendonly", "yes"],
            ["--appendfsync", "no"],                // see syncer
            ["--auto-aof-rewrite-percentage", "0"], // see space
            ["--save", ""],
            ["--maxmemory-policy", "noeviction"],
            // A longer listpack is searched from its start for each field: a fifth of a cycle with 200 waiting jobs, or
            // with 50 reserved ones.
            ["--hash-max-listpack-entries", "64"],
            ["--zset-max-listpack-entries", "16"],
            // A histogram of each command in a script costs a hundredth of a cycle and is never read.
            ["--latency-tracking", "no"],
            // With 400,000 jobs, a rewrite takes 0.6 s of CPU time instead of 1.0, and its file is a third larger.
            ["--rdbcompression", "no"],
            ["--daemonize", "no"],
        ];
        command.args(settings.concat());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_6_is_refused() {
        assert_eq!(version("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"), Some("7.0.15"));
        assert_eq!(version("something else"), None);
        for (version, enough) in [("7.0.0", true), ("8.1", true), ("10.0.1", true), ("6.2.7", false), ("", false)] {
            assert_eq!(is_enough(version), enough, "{version}");
        }
    }
}
