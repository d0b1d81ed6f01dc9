//! The command that runs a script.

use crate::queue::redis::args::Args;

pub(super) fn command(name: &str, script: &str, keys: &[String], items: &[&Args]) -> redis::Cmd {
    let size = items.iter().map(|args| args.size()).sum::<usize>() + keys.iter().map(String::len).sum::<usize>();
    let count = 3 + keys.len() + items.iter().map(|args| args.count()).sum::<usize>();
    let mut command = redis::Cmd::with_capacity(count, size + script.len() + name.len());
    command.arg(name).arg(script).arg(keys.len()).arg(keys);
    for arg in items.iter().flat_map(|args| args.iter()) {
        command.arg(arg);
    }
    command
}
