//! Whether the user `default` may do what Redis checks against it when it starts.

use intray_redis::{Fault, Link};
use redis::Value;

use super::{
    check::{Check, check, field, warn},
    health::info,
    restart::DEFAULT_USER_REMEDY,
    rights::{HERE, TRIALS},
};
use crate::handle::Queues;

/// The commands in [`TRIALS`] that Redis writes into its append-only file.
const APPENDED: [&str; 10] = ["HDEL", "HINCRBY", "HSET", "SET", "UNLINK", "XADD", "XDEL", "XTRIM", "ZADD", "ZREM"];

const NAME: &str = "restart";

/// What a server says of its user `default`.
enum UserRights {
    /// The commands that the user may not run.
    Lacking(Vec<&'static str>),
    /// The check of rights names the missing right.
    NotAllowed,
    Unknown(String),
}

impl Queues {
    /// Whether a restart of Redis keeps what scripts have changed; `None` if its user may not look.
    pub(super) async fn default_user(&self) -> Option<Check> {
        let links = &self.parts.runner.link;
        let (mut lacking, mut unknown, mut is_verified) = (Vec::new(), Vec::new(), true);
        for link in links.all().await.unwrap_or_default() {
            let place = if links.is_cluster() { format!("{}: ", link.name()) } else { String::new() };
            match self.ask_default_user(&link).await {
                _ if info(&link).await.is_ok_and(|info| field(&info, "aof_enabled") != "1") => {}
                UserRights::Lacking(commands) if commands.is_empty() => {}
                UserRights::Lacking(commands) => lacking.push(format!("{place}not {}", commands.join(", "))),
                UserRights::NotAllowed => is_verified = false,
                UserRights::Unknown(why) => unknown.push(format!("{place}{why}")),
            }
        }
        if !lacking.is_empty() {
            let problem = format!(
                "a restart of Redis throws away what scripts have changed, because its user `default` may not do all of it, \
                 {}: {DEFAULT_USER_REMEDY}",
                lacking.join("; ")
            );
            return Some(check(NAME, Some(problem)));
        }
        if !unknown.is_empty() {
            let problem = format!("not verified: {}; {DEFAULT_USER_REMEDY}", unknown.join("; "));
            return Some(warn(NAME, Some(problem)));
        }
        is_verified.then(|| check(NAME, None))
    }

    async fn ask_default_user(&self, link: &Link) -> UserRights {
        let (here, mut lacking) = (self.parts.runner.keys.trial(), Vec::new());
        for (name, arguments) in TRIALS.iter().filter(|(name, _)| APPENDED.contains(name)) {
            let mut command = redis::cmd("ACL");
            command.arg("DRYRUN").arg("default").arg(name);
            command.arg(arguments.iter().map(|word| if *word == HERE { &here } else { *word }).collect::<Vec<_>>());
            match link.plain(&command).await {
                Ok(Value::Okay) => {}
                Ok(_) => lacking.push(*name),
                Err(Fault::Unavailable { why, .. }) if why == "NOPERM" => return UserRights::NotAllowed,
                Err(fault) => return UserRights::Unknown(fault.why()),
            }
        }
        UserRights::Lacking(lacking)
    }
}
