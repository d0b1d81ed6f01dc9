//! Is this Redis one that jobs are safe in?

use redis::Value;

use super::{
    check::{Check, check, field, warn},
    durable, migrate,
};
use crate::queue::{fault::Fault, handle::Queues, redis::read::broken};

/// The oldest Redis whose scripts have flags.
const OLDEST: u32 = 7;

impl Queues {
    /// What a service needs of Redis before it may say that it is ready.
    pub async fn ready(&self) -> Vec<Check> {
        let info = match self.info().await {
            Ok(info) => info,
            Err(fault) => return vec![check("redis", Some(fault.to_string()))],
        };
        let layout = self.layout().await.err().map(|e| e.to_string());
        let mut checks = vec![
            check("redis", None),
            check("version", version_problem(&info)),
            check("role", (field(&info, "role") != "master").then(|| "this Redis is a replica".to_owned())),
            check("eviction", eviction_problem(&info)),
            check("layout", layout),
            check("disk", disk_problem(&info)),
            warn("data", self.emptied()),
        ];
        if let Some(problem) = self.parts.runner.link.lacks() {
            checks.push(warn("behind", problem));
        }
        if self.parts.runner.link.knows_its_room() {
            checks.push(warn("room", self.parts.runner.link.shortage()));
        }
        checks
    }

    /// Whether the user of Redis may do all that is needed; nothing if Redis is away, which others say.
    pub async fn allowed(&self) -> Option<Check> {
        self.rights().await.ok()
    }

    /// What `intray check` says beyond readiness: what costs safety, and whether changes can be kept as they are to be.
    pub async fn durable(&self) -> Vec<Check> {
        let link = &self.parts.runner.link;
        let Ok(info) = self.info().await else { return Vec::new() };
        let mut checks = durable::checks(&info, link.durability());
        if link.durability().is_more_than_async() {
            checks.push(check("durability", link.unconfirmable().await));
        }
        checks
    }

    pub(crate) async fn version_problem(&self) -> Result<Option<String>, Fault> {
        Ok(version_problem(&self.info().await?))
    }

    async fn info(&self) -> Result<String, Fault> {
        let mut command = redis::cmd("INFO");
        command.arg("server").arg("replication").arg("memory").arg("persistence");
        match self.parts.runner.link.checked(&command).await? {
            Value::BulkString(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Value::VerbatimString { text, .. } => Ok(text),
            _ => Err(broken("INFO")),
        }
    }

    /// Open connections, and how many the pool may have.
    pub fn connections(&self) -> (usize, usize) {
        self.parts.runner.link.connections()
    }

    async fn layout(&self) -> Result<(), migrate::LayoutError> {
        migrate::expect_current(self).await
    }
}

fn version_problem(info: &str) -> Option<String> {
    let version = field(info, "redis_version");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    major.is_none_or(|major| major < OLDEST).then(|| format!("Redis {version} is too old: 7.0 or newer is needed"))
}

fn disk_problem(info: &str) -> Option<String> {
    let failed = field(info, "aof_last_write_status") == "err";
    failed.then(|| "Redis cannot write to its disk: it is full or broken".to_owned())
}

fn eviction_problem(info: &str) -> Option<String> {
    let policy = field(info, "maxmemory_policy");
    (policy != "noeviction").then(|| format!("maxmemory-policy {policy} would throw jobs away: set it to noeviction"))
}
