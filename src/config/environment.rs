//! Environment variables that belong to no flag: unknown names, and `RUST_LOG`.

use std::collections::BTreeSet;

use clap::CommandFactory;
use tracing_subscriber::filter::{LevelFilter, Targets};

use super::{Cli, each_argument};
use crate::waits;

/// Maximum edit distance at which a known variable is suggested.
const MAX_TYPOS: usize = 3;
/// The crates that log, as `RUST_LOG` names them.
const LOGGING_CRATES: [&str; 8] = ["axum", "deadpool", "hyper", "hyper_util", "mio", "redis", "tokio", "tower_http"];
/// Our own crates: `intray`, `intray_listen` and others. A directive for `intray` covers them all.
const OWN_CRATE_PREFIX: &str = "intray";
const DEFAULT_LEVEL: &str = "info";

/// Returns one sentence for each variable that is named like a setting but is none. The value may be a secret and is left out.
pub fn unknown_variables() -> Vec<String> {
    let lossy = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    let mut found: Vec<_> = unknown(std::env::vars_os().map(lossy)).collect();
    found.sort();
    found
}

fn unknown(variables: impl Iterator<Item = (String, String)>) -> impl Iterator<Item = String> {
    let known = known();
    let looks_like_ours = |name: &str| name.starts_with("INTRAY_") || name.starts_with("REDIS_URL");
    let found = variables.filter(move |(name, value)| looks_like_ours(name) && !value.is_empty());
    found.filter(|(name, value)| !is_of_kubernetes(name, value)).filter_map(move |(name, _)| {
        let nearest = known.iter().min_by_key(|other| strsim::damerau_levenshtein(&name, other))?;
        match strsim::damerau_levenshtein(&name, nearest) {
            0 => None,
            1..=MAX_TYPOS => Some(format!("{name} is not a variable of this program and does nothing: {nearest}?")),
            _ => Some(format!("{name} is not a variable of this program and does nothing")),
        }
    })
}

fn known() -> BTreeSet<String> {
    let of_no_flag = [intray_cli::KEY_VARIABLE].into_iter().chain(cfg!(debug_assertions).then_some(waits::VARIABLE));
    let names = std::cell::RefCell::new(of_no_flag.map(str::to_owned).collect::<BTreeSet<_>>());
    each_argument(Cli::command(), |arg| {
        names.borrow_mut().extend(arg.get_env().map(|name| name.to_string_lossy().into_owned()));
        arg
    });
    names.into_inner()
}

/// Kubernetes sets variables with the names and addresses of all services in a pod's namespace.
fn is_of_kubernetes(name: &str, value: &str) -> bool {
    let port = name.ends_with("_PORT") && (value.starts_with("tcp://") || value.starts_with("udp://"));
    let parts = ["_SERVICE_PORT_", "_TCP", "_UDP"];
    port || ["_SERVICE_HOST", "_SERVICE_PORT"].iter().any(|end| name.ends_with(end))
        || parts.iter().any(|part| name.contains(part))
}

/// Returns the log filter, and a sentence about an invalid `RUST_LOG`.
pub fn levels() -> (Targets, Option<String>) {
    let value = std::env::var("RUST_LOG").unwrap_or_default();
    let invalid = value.split(',').map(str::trim).find(|part| !part.is_empty() && !is_valid(part));
    let filter = if value.trim().is_empty() || invalid.is_some() { DEFAULT_LEVEL } else { &value };
    let sentence = |invalid| {
        format!(
            "RUST_LOG has `{invalid}`, which is neither a level (error, warn, info, debug, trace, off) nor a part of this program with one (intray=debug): it is taken as {DEFAULT_LEVEL}"
        )
    };
    (filter.parse().unwrap_or_default(), invalid.map(sentence))
}

/// Accepts `level`, `crate` or `crate=level`.
fn is_valid(directive: &str) -> bool {
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    let is_own =
        |name: &str| name.strip_prefix(OWN_CRATE_PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    let is_part = |word: &str| {
        let name = word.split("::").next().unwrap_or_default();
        is_own(name) || LOGGING_CRATES.contains(&name)
    };
    match directive.split_once('=') {
        Some((part, level)) => is_part(part) && is_level(level),
        None => is_level(directive) || is_part(directive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo run` passes on the variables that the build script sets; they must not cause warnings.
    #[test]
    fn variables_of_the_build_script_are_known() {
        let script = include_str!("../../packages/build.rs");
        let names = script.split("rustc-env=").skip(1).filter_map(|rest| rest.split_once('='));
        let examples: Vec<_> = names.map(|(name, _)| (name.to_owned(), "something".to_owned())).collect();
        assert!(!examples.is_empty());
        assert_eq!(unknown(examples.into_iter()).collect::<Vec<_>>(), Vec::<String>::new());
    }
}
