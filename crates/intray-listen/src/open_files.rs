//! How many connections fit into the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that are not callers' connections: Redis, the log, files of keys, a connection being accepted.
const RESERVED_FILES: usize = 64;

/// Raises the soft limit of open files to the hard one. Returns how many of the connections asked for fit below it.
pub fn fit_open_files(asked: usize) -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    let room = files.saturating_sub(RESERVED_FILES).max(1);
    if room < asked {
        tracing::warn!(
            max_connections = asked,
            served = room,
            open_files = files,
            "the limit of open files (ulimit -Hn) is too low for --max-connections; fewer are served"
        );
    }
    asked.min(room)
}
