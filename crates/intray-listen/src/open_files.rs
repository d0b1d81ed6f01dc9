//! How many connections fit into the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that are not callers' connections: Redis, the log, files of keys, a connection being accepted.
const RESERVED_FILES: usize = 64;
/// Served if the operator does not say how many, and the limit of open files allows it.
const USUAL_CONNECTIONS: usize = 65_536;
/// Fewer are too few for most services.
const FEW_CONNECTIONS: usize = 1_000;

/// Raises the soft limit of open files to the hard one. Returns how many of the connections asked for fit below it. It warns when
/// that is fewer than the operator asked for, or few; fewer than the usual number alone are no reason to warn.
pub fn fit_open_files(asked: Option<usize>) -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    let room = files.saturating_sub(RESERVED_FILES).max(1);
    let wanted = asked.unwrap_or(USUAL_CONNECTIONS);
    if room < wanted && (asked.is_some() || room < FEW_CONNECTIONS) {
        tracing::warn!(
            max_connections = wanted,
            served = room,
            open_files = files,
            "the limit of open files (ulimit -Hn) is too low for --max-connections; fewer are served"
        );
    }
    wanted.min(room)
}
