//! How many connections this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that are no caller's: Redis's connections, the log, files of keys, one that is just being accepted.
const OTHERS: usize = 64;

/// Raises the soft limit of open files to the hard one, as is ours to do, and answers how many of the connections that are
/// asked for fit below it.
pub fn room_for(asked: usize) -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    let room = files.saturating_sub(OTHERS).max(1);
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
