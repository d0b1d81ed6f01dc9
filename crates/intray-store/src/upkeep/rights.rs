//! Tests the rights of the Redis user. A missing right would otherwise fail a script after its first writes, so each right is
//! tried before, by a command without effect.

use std::collections::BTreeSet;

use intray_redis::{Fault, Link};

use super::check::Check;
use crate::{handle::Queues, redis::hints::may_listen};

/// The placeholder for the key or the channel of a trial.
pub(super) const HERE: &str = "<key>";
/// A script that reads nothing and writes nothing.
const IDLE: &str = "#!lua flags=no-writes\nreturn 1";
/// The name of a script, function or library that does not exist.
const NOBODYS: &str = "0000000000000000000000000000000000000000";

/// A command and its arguments.
pub(super) type Trial = (&'static str, &'static [&'static str]);

/// Every command that a script or this program calls, sorted, with arguments that change nothing if the key does not exist.
/// Redis checks rights before arguments, so some arguments are invalid. A `|` precedes a subcommand.
pub(super) const TRIALS: [Trial; 41] = [
    ("ACL|DRYRUN", &["default", "ping"]),
    ("EVAL", &[IDLE, "0"]),
    ("EVALSHA", &[NOBODYS, "0"]),
    ("EXISTS", &[HERE]),
    ("FCALL", &[NOBODYS, "0"]),
    ("FUNCTION|DELETE", &[NOBODYS]),
    ("FUNCTION|LOAD", &[""]),
    ("GET", &[HERE]),
    ("HDEL", &[HERE, ""]),
    ("HEXISTS", &[HERE, ""]),
    ("HGET", &[HERE, ""]),
    ("HGETALL", &[HERE]),
    ("HINCRBY", &[HERE, "", "no number"]),
    ("HMGET", &[HERE, ""]),
    ("HSCAN", &[HERE, "0"]),
    ("HSET", &[HERE, "", "", "no value"]),
    ("HSTRLEN", &[HERE, ""]),
    ("INFO", &["server"]),
    ("PING", &[]),
    ("PUBLISH", &[HERE, ""]),
    ("SET", &[HERE, "", "XX", "NX"]),
    ("TIME", &[]),
    ("UNLINK", &[HERE]),
    ("UNWATCH", &[]),
    ("XADD", &[HERE, "0-0", "", ""]),
    ("XDEL", &[HERE, "0-0"]),
    ("XINFO|STREAM", &[HERE]),
    ("XRANGE", &[HERE, "-", "+"]),
    ("XREVRANGE", &[HERE, "+", "-"]),
    ("XTRIM", &[HERE, "MAXLEN", "0"]),
    ("ZADD", &[HERE, "XX", "0", ""]),
    ("ZCARD", &[HERE]),
    ("ZCOUNT", &[HERE, "0", "0"]),
    ("ZLEXCOUNT", &[HERE, "-", "+"]),
    ("ZMSCORE", &[HERE, ""]),
    ("ZRANGE", &[HERE, "0", "0"]),
    ("ZRANGEBYLEX", &[HERE, "-", "+"]),
    ("ZRANGEBYSCORE", &[HERE, "0", "0"]),
    ("ZRANK", &[HERE, ""]),
    ("ZREM", &[HERE, ""]),
    ("ZSCORE", &[HERE, ""]),
];

/// Commands that only a cluster needs. `ASKING` affects the next command, which is one of these.
const CLUSTERED: [Trial; 2] = [("ASKING", &[]), ("CLUSTER|SLOTS", &[])];
/// Commands that change the state of a connection, so they are tried on a separate one.
const LISTENING: [&str; 2] = ["SUBSCRIBE", "UNSUBSCRIBE"];
/// Optional rights. Without them the service works, but some events come late: waiting calls are not woken, and the pool does
/// not reuse connections. Or Redis has more work: scripts are not library functions, and old libraries remain. Or a check is
/// left out.
const COMFORTS: [(&str, &str); 9] = [
    (
        "ACL|DRYRUN",
        "it is not verified that Redis keeps all jobs when it is restarted with a restricted user `default`",
    ),
    ("FCALL", "Redis has more work"),
    ("FUNCTION|DELETE", "Redis has more work"),
    ("FUNCTION|LOAD", "Redis has more work"),
    ("HSCAN", "names of workers cannot be taken out"),
    ("PUBLISH", "some things come late"),
    ("SUBSCRIBE", "some things come late"),
    ("UNWATCH", "some things come late"),
    ("XDEL", "events that name a worker whose name is taken out stay until they are old"),
];

impl Queues {
    /// The check of the user's rights on every server: it names the missing rights and the remedy.
    ///
    /// # Errors
    /// When Redis is not well.
    pub(crate) async fn rights(&self) -> Result<Check, Fault> {
        let (lacking, places) = self.lacking(&[]).await?;
        Ok(self.judge(&lacking, &places))
    }

    /// The missing rights, of which those in `more` are not a service's, and the places of a cluster where some are missing.
    pub(super) async fn lacking(&self, more: &[Trial]) -> Result<(Vec<&'static str>, Vec<String>), Fault> {
        let (links, mut lacking, mut places) = (&self.parts.runner.link, Vec::new(), Vec::new());
        let mut answer = Ok(());
        for link in links.all().await? {
            match self.lacking_at(&link, more).await {
                Ok(none) if none.is_empty() => {}
                Ok(some) => {
                    places.push(link.name().to_owned());
                    lacking.extend(some.into_iter().filter(|name| !lacking.contains(name)).collect::<Vec<_>>());
                }
                // The other servers are still checked.
                Err(fault) => answer = Err(fault),
            }
        }
        if !links.is_cluster() {
            answer?;
            places.clear();
        }
        Ok((lacking, places))
    }

    async fn lacking_at(&self, link: &Link, more: &[Trial]) -> Result<Vec<&'static str>, Fault> {
        let (here, mut lacking) = (self.parts.runner.keys.trial(), Vec::new());
        let clustered = CLUSTERED.iter().filter(|_| self.parts.runner.link.is_cluster());
        for (name, arguments) in TRIALS.iter().chain(clustered).chain(more) {
            let mut words = name.split('|');
            let mut command = redis::cmd(words.next().unwrap_or_default());
            command.arg(words.collect::<Vec<_>>());
            command.arg(arguments.iter().map(|word| if *word == HERE { &here } else { *word }).collect::<Vec<_>>());
            if !lacking.contains(name) && !link.may(&command).await? {
                lacking.push(*name);
            }
        }
        if !may_listen(link, &here).await {
            lacking.push(LISTENING[0]);
        }
        Ok(lacking)
    }

    fn judge(&self, lacking: &[&'static str], places: &[String]) -> Check {
        let prefix = self.parts.runner.keys.prefix();
        let needed = needed_rights(prefix, self.parts.runner.link.is_cluster());
        let costs: Option<BTreeSet<_>> = lacking.iter().map(|name| cost(name)).collect();
        let is_warning = costs.is_some();
        let costs = costs.map(|costs| format!(", so that {}", costs.into_iter().collect::<Vec<_>>().join(" and ")));
        let (what, costs) = (lacking.join(", "), costs.unwrap_or_default());
        let at = at(places);
        let problem =
            format!("the user of Redis may not do all that is needed on {prefix}:*{at}, not {what}{costs}: {needed}");
        Check { name: "rights", problem: (!lacking.is_empty()).then_some(problem), is_warning }
    }
}

/// What the service lacks without an optional right; `None` for one that it needs.
pub(super) fn cost(name: &str) -> Option<&'static str> {
    COMFORTS.iter().find(|(comfort, _)| *comfort == name).map(|(_, cost)| *cost)
}

/// ` at a, b`, or nothing.
pub(super) fn at(places: &[String]) -> String {
    if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) }
}

/// The words that grant these rights.
pub(super) fn granted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!(" +{}", name.to_lowercase())).collect()
}

/// The command that creates a Redis user with exactly the required rights. The operator replaces `PASSWORD`.
#[must_use]
pub fn needed_rights(prefix: &str, of_a_cluster: bool) -> String {
    let more = CLUSTERED.iter().filter(|_| of_a_cluster).map(|(name, _)| *name);
    let commands = granted(TRIALS.iter().map(|(name, _)| *name).chain(LISTENING).chain(more));
    format!("ACL SETUSER intray on >PASSWORD ~{prefix}:* &{prefix}:*{commands}")
}

/// The command that keeps the rights of the user `default`, also of one that is off.
pub const DEFAULT_USER: &str = "ACL SETUSER default off nopass ~* &* +@all";

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{super::restart::DEFAULT_USER_REMEDY, *};

    /// Words in capitals that are not commands.
    const OPTIONS: [&str; 7] = ["BYLEX", "BYSCORE", "COUNT", "LIMIT", "MINID", "REV", "WITHSCORES"];
    /// Used by `intray migrate` and `intray move` only, as `docs/scale.md` and `docs/move.md` say.
    const MOVING: [&str; 6] = ["DUMP", "HLEN", "RENAMENX", "RESTORE", "TYPE", "ZSCAN"];
    /// A user without this right gets a less exact message.
    const OPTIONAL: [&str; 2] = ["CONFIG", "GETRANGE"];
    /// Used with `--durability` only, as `docs/scale.md` says. The start tries them if they are needed.
    const KEEPING: [&str; 2] = ["WAIT", "WAITAOF"];
    /// Used on sentinels, which have their own users.
    const ON_SENTINELS: [&str; 1] = ["SENTINEL"];

    fn texts(folder: &str, extension: &str) -> Vec<String> {
        let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)).expect("a folder");
        let mut texts = Vec::new();
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            if path.is_dir() && name != "tests" {
                texts.extend(self::texts(&format!("{folder}/{name}"), extension));
            } else if name.ends_with(extension) && name != "tests.rs" {
                let text = fs::read_to_string(&path).expect("text");
                texts.push(text.split("#[cfg(test)]").next().unwrap_or_default().to_owned());
            }
        }
        texts
    }

    /// The quoted words in capitals, or only those after `prefix` if it is not empty.
    fn capitals(text: &str, quote: char, prefix: &str) -> BTreeSet<String> {
        let code: String =
            text.lines().map(|line| line.split("--").next().unwrap_or_default().to_owned() + "\n").collect();
        let begin = format!("{prefix}{quote}");
        let starts = code.match_indices(&begin).map(|(at, found)| at + found.len());
        let words = starts.filter_map(|at| code[at..].split_once(quote).map(|(word, _)| word));
        words.filter(|w| w.len() > 2 && w.bytes().all(|b| b.is_ascii_uppercase())).map(str::to_owned).collect()
    }

    #[test]
    fn every_command_is_in_the_rights_trials() {
        let mut called: BTreeSet<_> = texts("lua", ".lua").iter().flat_map(|text| capitals(text, '\'', "")).collect();
        for folder in ["migrations", "crates/intray-store/src/upkeep/migrate"] {
            called.extend(texts(folder, ".lua").iter().flat_map(|text| capitals(text, '\'', "")));
        }
        for text in
            ["crates/intray-store/src", "crates/intray-redis/src"].iter().flat_map(|folder| texts(folder, ".rs"))
        {
            called.extend(["cmd(", "command("].iter().flat_map(|prefix| capitals(&text, '"', prefix)));
        }
        // The pool sends it too when it checks a connection.
        called.insert("UNWATCH".to_owned());
        let others = [&OPTIONS[..], &MOVING, &OPTIONAL, &KEEPING, &ON_SENTINELS].concat();
        called.retain(|word| !others.contains(&word.as_str()));
        let trials = TRIALS.iter().chain(&CLUSTERED);
        let tried: BTreeSet<_> = trials.filter_map(|(name, _)| name.split('|').next()).map(str::to_owned).collect();
        assert_eq!(tried, called, "TRIALS and what is called: each has what the other has");
        assert!(TRIALS.is_sorted_by_key(|(name, _)| *name), "{TRIALS:?}");
    }

    #[test]
    fn documents_show_the_acl_line() {
        let page = include_str!("../../../../docs/scale.md");
        assert!(page.contains(DEFAULT_USER) && DEFAULT_USER_REMEDY.contains(DEFAULT_USER));
        let line = page.lines().find(|line| line.starts_with("ACL SETUSER ")).unwrap_or_default();
        assert_eq!(line, needed_rights("intray", false));
        assert!(page.replace("\\|", "|").contains("`+asking +cluster|slots`"), "the rights for a cluster");
    }
}
