//! Whether this Redis is fit and safe for jobs.

use intray_redis::{Durability, Fault, Link, parse_reply};

use super::{
    check::{Check, check, field, warn},
    durable,
    migrate::{self, LayoutError},
};
use crate::{availability::NOT_CHECKED, handle::Queues};

/// The oldest version of Redis with flags of scripts.
const OLDEST: u32 = 7;

/// The INFO of each server, with its address if there are several.
struct ServerInfos {
    infos: Vec<(Option<String>, String)>,
    /// The faults of servers that did not answer.
    silent: Vec<Fault>,
}

impl Queues {
    /// The checks of readiness.
    pub async fn ready(&self) -> Vec<Check> {
        if self.parts.runner.availability.is_held() {
            return vec![check("redis", Some(Fault::unavailable(&NOT_CHECKED).to_string()))];
        }
        self.fit().await
    }

    /// The same for a store whose scripts are not run yet.
    pub async fn fit(&self) -> Vec<Check> {
        let server_infos = match self.server_infos().await {
            Ok(infos) => infos,
            Err(fault) => return vec![check("redis", Some(fault.to_string()))],
        };
        let silent = server_infos.silent.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ");
        let mut checks = vec![
            check("redis", None),
            check("version", server_infos.problem(version_problem)),
            check("role", server_infos.problem(role_problem)),
            check("eviction", server_infos.problem(eviction_problem)),
            check("layout", self.layout_problem().await),
            check("disk", server_infos.problem(disk_problem)),
            warn("data", self.emptied()),
        ];
        if let Some(problem) = self.parts.runner.link.replication_gap() {
            checks.push(warn("behind", problem));
        }
        if self.parts.runner.link.is_cluster() {
            checks.push(warn("nodes", (!silent.is_empty()).then_some(silent)));
            checks.push(warn("slots", self.unserved().await));
        }
        if self.parts.runner.link.has_private_disk() {
            checks.push(warn("room", self.parts.runner.link.disk_shortage()));
        }
        checks
    }

    /// What the start refuses or warns of and what may change later: the requirements of Redis, and its settings.
    pub async fn standing(&self) -> Vec<Check> {
        let Ok(infos) = self.server_infos().await else { return Vec::new() };
        let mut checks = vec![
            check("version", infos.problem(version_problem)),
            check("role", infos.problem(role_problem)),
            check("eviction", infos.problem(eviction_problem)),
        ];
        checks.extend(infos.checks(|info| durable::checks(info, &Durability::Async)));
        checks
    }

    /// Runs no script on a queue while the store may be unfit.
    pub fn hold(&self, is_held: bool) {
        self.parts.runner.availability.hold(is_held);
    }

    /// Why no server answers, if that may pass by itself; `None` also if a server refuses this client.
    pub async fn away(&self) -> Option<Fault> {
        let links = &self.parts.runner.link;
        let fault = match links.all().await {
            Err(fault) => fault,
            Ok(all) => {
                let ping = redis::cmd("PING");
                let pongs = futures_util::future::join_all(all.iter().map(|link| link.checked(&ping))).await;
                if pongs.iter().any(Result::is_ok) {
                    return None;
                }
                pongs.into_iter().find_map(Result::err)?
            }
        };
        let is_passing = matches!(&fault, Fault::Unavailable { why, .. } if why != "NOPERM") && !links.is_refused();
        is_passing.then_some(fault)
    }

    /// Whether the user of Redis has all rights; `None` if Redis is unavailable, which other checks report.
    pub async fn allowed(&self) -> Option<Check> {
        self.rights().await.ok()
    }

    /// The checks of `intray check` beyond readiness: risks of data loss, the effect of a lost node, and whether `--durability`
    /// can be satisfied.
    pub async fn durable(&self) -> Vec<Check> {
        let links = &self.parts.runner.link;
        let (Ok(infos), Ok(all)) = (self.server_infos().await, links.all().await) else { return Vec::new() };
        let Some(durability) = all.first().map(|link| link.durability()) else { return Vec::new() };
        let mut checks = infos.checks(|info| durable::checks(info, durability));
        checks.extend(infos.problem(missing_info_problem).map(|unreported| warn("unreported", Some(unreported))));
        if durability.is_more_than_async() {
            let mut problems = Vec::new();
            for link in &all {
                let place = links.is_cluster().then(|| link.name());
                problems.extend(link.unconfirmable().await.map(|problem| placed(place, problem)));
            }
            checks.push(check("durability", (!problems.is_empty()).then(|| problems.join("; "))));
        }
        checks.extend(self.default_user().await);
        if links.is_cluster() {
            checks.push(warn("coverage", self.coverage_problem().await));
        }
        checks
    }

    pub(crate) async fn version_problem(&self) -> Result<Option<String>, Fault> {
        Ok(self.server_infos().await?.problem(version_problem))
    }

    /// The INFO of each server that answers; a fault if none does.
    pub(super) async fn infos(&self) -> Result<Vec<String>, Fault> {
        Ok(self.server_infos().await?.infos.into_iter().map(|(_, info)| info).collect())
    }

    /// The INFO of the servers that answer; a fault if none does.
    async fn server_infos(&self) -> Result<ServerInfos, Fault> {
        let links = &self.parts.runner.link;
        let all = links.all().await?;
        let answers = all.iter().map(|link| async move { (link.name(), info(link).await) });
        let (mut infos, mut silent) = (Vec::new(), Vec::new());
        for (place, answer) in futures_util::future::join_all(answers).await {
            match answer {
                Ok(info) => infos.push((links.is_cluster().then(|| place.to_owned()), info)),
                Err(fault) => silent.push(fault),
            }
        }
        match silent.pop() {
            Some(fault) if infos.is_empty() => Err(fault),
            last => {
                silent.extend(last);
                Ok(ServerInfos { infos, silent })
            }
        }
    }

    /// On a cluster, an unavailable node is another check's problem.
    async fn layout_problem(&self) -> Option<String> {
        match migrate::expect_current(self).await {
            Err(LayoutError::Fault(Fault::Unavailable { .. })) if self.parts.runner.link.is_cluster() => None,
            layout => layout.err().map(|e| e.to_string()),
        }
    }

    /// Reads the setting from each node that allows it.
    async fn coverage_problem(&self) -> Option<String> {
        let mut full = Vec::new();
        for link in self.parts.runner.link.all().await.ok()? {
            let answer = link.plain(redis::cmd("CONFIG").arg("GET").arg("cluster-require-full-coverage")).await;
            if format!("{answer:?}").contains("yes") {
                full.push(link.name().to_owned());
            }
        }
        let problem = "the loss of one primary stops the queues of all: set `cluster-require-full-coverage no`";
        (!full.is_empty()).then(|| format!("{}: {problem}", full.join(", ")))
    }

    /// Open connections, and the limit of the pool.
    pub fn connections(&self) -> (usize, usize) {
        self.parts.runner.link.connections()
    }
}

impl ServerInfos {
    /// The problems of all servers, joined.
    fn problem(&self, of: impl Fn(&str) -> Option<String>) -> Option<String> {
        let problems = self.infos.iter().filter_map(|(place, info)| {
            let problem = of(info)?;
            Some(placed(place.as_deref(), problem))
        });
        let problems: Vec<_> = problems.collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }

    /// The checks of all servers, joined by name.
    fn checks(&self, of: impl Fn(&str) -> Vec<Check>) -> Vec<Check> {
        let mut all = Vec::<Check>::new();
        for (place, info) in &self.infos {
            for one in of(info) {
                let problem = one.problem.map(|problem| placed(place.as_deref(), problem));
                match all.iter_mut().find(|known| known.name == one.name) {
                    Some(known) => {
                        let both = [known.problem.take(), problem].into_iter().flatten();
                        known.problem = both.reduce(|one, other| format!("{one}; {other}"));
                    }
                    None => all.push(Check { problem, ..one }),
                }
            }
        }
        all
    }
}

/// The problem with the address of the server, if there are several.
fn placed(place: Option<&str>, problem: String) -> String {
    place.map_or_else(|| problem.clone(), |place| format!("{place}: {problem}"))
}

pub(super) async fn info(link: &Link) -> Result<String, Fault> {
    let mut command = redis::cmd("INFO");
    parse_reply(link.checked(command.arg("server").arg("replication").arg("memory").arg("persistence")).await?)
}

fn version_problem(info: &str) -> Option<String> {
    let version = field(info, "redis_version");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major < OLDEST).then(|| format!("Redis {version} is too old: 7.0 or newer is needed"))
}

fn role_problem(info: &str) -> Option<String> {
    (field(info, "role") == "slave").then(|| "this Redis is a replica".to_owned())
}

fn disk_problem(info: &str) -> Option<String> {
    let failed = field(info, "aof_last_write_status") == "err";
    failed.then(|| "Redis cannot write to its disk: it is full or broken".to_owned())
}

fn eviction_problem(info: &str) -> Option<String> {
    let policy = field(info, "maxmemory_policy");
    let evicts = !matches!(policy, "" | "noeviction");
    evicts.then(|| format!("maxmemory-policy {policy} would throw jobs away: set it to noeviction"))
}

/// A managed Redis may hide some of these; an operator must verify them.
fn missing_info_problem(info: &str) -> Option<String> {
    let fields = [("redis_version", "its version"), ("maxmemory_policy", "its maxmemory-policy"), ("role", "its role")];
    let unreported: Vec<_> =
        fields.iter().filter(|(name, _)| field(info, name).is_empty()).map(|(_, what)| *what).collect();
    (!unreported.is_empty()).then(|| format!("Redis does not report {}; check it by hand", unreported.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_info_is_only_a_warning() {
        let managed = "redis_version:7.1.0\r\nrole:master\r\n";
        assert!([version_problem, role_problem, eviction_problem].iter().all(|problem| problem(managed).is_none()));
        assert!(missing_info_problem(managed).expect("a warning").contains("maxmemory-policy"));
        let own = "redis_version:6.2.0\r\nrole:slave\r\nmaxmemory_policy:allkeys-lru\r\n";
        assert!([version_problem, role_problem, eviction_problem].iter().all(|problem| problem(own).is_some()));
        assert_eq!(missing_info_problem(own), None);
    }
}
