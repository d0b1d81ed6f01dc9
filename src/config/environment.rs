//! What the environment says beside the flags' variables: names that nobody knows, and the levels of the log.

use std::collections::BTreeSet;

use clap::CommandFactory;
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

use super::{Cli, each_argument, remote};

/// How many letters may differ between what is meant and what is written.
const SLIPS: usize = 3;
/// The parts of this program that log, as `RUST_LOG` calls them.
const PARTS: [&str; 9] = ["intray", "axum", "deadpool", "hyper", "hyper_util", "mio", "redis", "tokio", "tower_http"];
const LEVELS: &str = "info";

/// Of each variable that looks like one of ours and is none, a sentence. Its value is not in it.
pub fn strangers() -> Vec<String> {
    let lossy = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    let mut found: Vec<_> = strange(std::env::vars_os().map(lossy)).collect();
    found.sort();
    found
}

fn strange(variables: impl Iterator<Item = (String, String)>) -> impl Iterator<Item = String> {
    let known = known();
    let looks_like_ours = |name: &str| name.starts_with("INTRAY_") || name.starts_with("REDIS_URL");
    let found = variables.filter(move |(name, value)| looks_like_ours(name) && !value.is_empty());
    found.filter(|(name, value)| !is_of_kubernetes(name, value)).filter_map(move |(name, _)| {
        let nearest = known.iter().min_by_key(|other| strsim::damerau_levenshtein(&name, other))?;
        match strsim::damerau_levenshtein(&name, nearest) {
            0 => None,
            1..=SLIPS => Some(format!("{name} is not a variable of this program and does nothing: {nearest}?")),
            _ => Some(format!("{name} is not a variable of this program and does nothing")),
        }
    })
}

fn known() -> BTreeSet<String> {
    let names = std::cell::RefCell::new(BTreeSet::from([remote::KEY.to_owned()]));
    each_argument(Cli::command(), |arg| {
        names.borrow_mut().extend(arg.get_env().map(|name| name.to_string_lossy().into_owned()));
        arg
    });
    names.into_inner()
}

/// Every pod is told where the services of its namespace are, by variables that begin with their names.
fn is_of_kubernetes(name: &str, value: &str) -> bool {
    let port = name.ends_with("_PORT") && (value.starts_with("tcp://") || value.starts_with("udp://"));
    let parts = ["_SERVICE_PORT_", "_TCP", "_UDP"];
    port || ["_SERVICE_HOST", "_SERVICE_PORT"].iter().any(|end| name.ends_with(end))
        || parts.iter().any(|part| name.contains(part))
}

/// What is logged, and a sentence about a `RUST_LOG` that makes no sense.
pub fn levels() -> (EnvFilter, Option<String>) {
    let asked = std::env::var("RUST_LOG").unwrap_or_default();
    let odd = asked.split(',').map(str::trim).find(|part| !part.is_empty() && !makes_sense(part));
    let filter = if asked.trim().is_empty() || odd.is_some() { LEVELS } else { &asked };
    let sentence = |odd| {
        format!(
            "RUST_LOG has `{odd}`, which is neither a level (error, warn, info, debug, trace, off) nor a part of this program with one (intray=debug): it is taken as {LEVELS}"
        )
    };
    (EnvFilter::new(filter), odd.map(sentence))
}

/// `level`, `part`, `part=level`; what selects by spans and fields is for those who know.
fn makes_sense(directive: &str) -> bool {
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    let is_part = |word: &str| PARTS.contains(&word.split("::").next().unwrap_or_default());
    if directive.contains('[') {
        return EnvFilter::try_new(directive).is_ok();
    }
    match directive.split_once('=') {
        Some((part, level)) => is_part(part) && is_level(level),
        None => is_level(directive) || is_part(directive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo run` hands on what the build says, and a newcomer would be warned of what they never set.
    #[test]
    fn what_the_build_says_is_no_stranger() {
        let script = include_str!("../../packages/build.rs");
        let names = script.split("rustc-env=").skip(1).filter_map(|rest| rest.split_once('='));
        let examples: Vec<_> = names.map(|(name, _)| (name.to_owned(), "something".to_owned())).collect();
        assert!(!examples.is_empty());
        assert_eq!(strange(examples.into_iter()).collect::<Vec<_>>(), Vec::<String>::new());
    }
}
