//! All changes of jobs. Each file here belongs to one in `lua/transitions`.

pub(crate) mod abandon;
pub(crate) mod append;
pub(crate) mod cancel;
pub(crate) mod collect;
pub(crate) mod complete;
pub(crate) mod create;
pub(crate) mod discard;
pub(crate) mod enqueue;
pub(crate) mod erase;
pub(crate) mod expire;
pub(crate) mod expunge;
pub(crate) mod extend;
pub(crate) mod fail;
pub(crate) mod forward;
pub(crate) mod hand_over;
pub(crate) mod posted;
pub(crate) mod purge;
pub(crate) mod reassign;
pub(crate) mod record;
pub(crate) mod redeliver;
pub(crate) mod release;
pub(crate) mod reopen;
pub(crate) mod reprioritize;
pub(crate) mod requeue;
pub(crate) mod reserve;
pub(crate) mod retire;
pub(crate) mod seal;
pub(crate) mod set;
pub(crate) mod stage;
pub(crate) mod sweep;
pub(crate) mod tally;
pub(crate) mod undo;
pub(crate) mod unname;
pub(crate) mod withdraw;

pub use self::{
    abandon::Abandon,
    append::Appended,
    cancel::Cancellation,
    collect::{Collected, DueDelivery},
    create::{BatchCreation, NewBatch},
    enqueue::{Dedupe, DerivedIds, Enqueued, NewJob},
    extend::{Extend, Extension},
    fail::Fail,
    forward::{Forward, Forwarded},
    hand_over::{HandOver, HandOverOutcome},
    posted::{Posted, Sent},
    purge::{Purge, Purged},
    reassign::{Reassign, Reassigned},
    record::Entered,
    release::{Release, Released},
    reopen::{Reopen, Reopened},
    reprioritize::{JobPatch, ReprioritizeAll, Reprioritized, ReprioritizedAll},
    requeue::{Requeue, Requeued},
    reserve::{Handout, HandoverNote, PassedLines, Reserve, ReserveOutcome, Snapshot},
    retire::{KeptFor, QueueRemoval},
    sweep::Swept,
    tally::SheetChange,
    undo::Undo,
    unname::{NamesTaken, UnnameFrom},
    withdraw::BatchCancellation,
};

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        fs,
        path::Path,
    };

    /// Scripts that work on the registry or the webhooks, not on a queue.
    const GLOBAL_SCRIPTS: [&str; 3] = ["seen", "unseen", "webhooks"];

    /// Each file of a folder by its name, without the extension, with its first line.
    fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        let paths = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let files = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
        files
            .map(|path| {
                let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
                (name, fs::read_to_string(&path).expect("text"))
            })
            .collect()
    }

    #[test]
    fn transition_has_a_lua_file_and_a_rust_file() {
        let scripts = files("lua/transitions", "lua").into_iter();
        let scripts: BTreeMap<_, _> = scripts.filter(|(name, _)| !GLOBAL_SCRIPTS.contains(&name.as_str())).collect();
        let mut twins = BTreeSet::new();
        for (name, text) in
            files("crates/intray-store/src/transitions", "rs").into_iter().filter(|(name, _)| name != "mod")
        {
            assert!(text.starts_with(&format!("//! {name}: ")), "{name}: the first line says the transition");
            let runs = format!("const SCRIPT: &'static str = \"{name}\";");
            assert!(text.contains(&runs) || name == "reserve", "{name} runs another script");
            let has_large = scripts.get(&name).is_some_and(|script| script.contains(" if-small\n"));
            assert_eq!(
                text.contains("fn needs_memory("),
                has_large,
                "{name}: both sides must say whether large calls need memory"
            );
            twins.insert(name);
        }
        assert_eq!(twins, scripts.into_keys().collect());
    }
}
