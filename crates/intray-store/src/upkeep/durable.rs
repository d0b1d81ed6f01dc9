//! Which acknowledged changes a Redis may lose, by its own report.

use intray_redis::Durability;

use super::check::{Check, field, warn};

/// The checks of safety.
pub(super) fn checks(info: &str, durability: &Durability) -> Vec<Check> {
    let replicas = online(info);
    // Redis reports the number of good replicas only if `min-replicas-to-write` is set.
    let is_guarded = !field(info, "min_slaves_good_slaves").is_empty();
    let unguarded = replicas > 0 && !is_guarded;
    let mut checks = vec![
        warn("append-only", (field(info, "aof_enabled") != "1").then(|| UNWRITTEN.to_owned())),
        warn("failover", unguarded.then(|| UNGUARDED.to_owned())),
        warn("memory", (field(info, "maxmemory") == "0").then(|| UNBOUNDED.to_owned())),
    ];
    if let Durability::Replicated(wanted) = durability {
        let few = || {
            format!(
                "{replicas} replicas are connected, and --durability replicated:{wanted} waits for {wanted}: every change is 503"
            )
        };
        checks.push(warn("replicas", (replicas < u64::from(*wanted)).then(few)));
    }
    checks
}

const UNWRITTEN: &str = "nothing is written to disk as it happens: set `appendonly yes`";
const UNBOUNDED: &str = "maxmemory is not set: Redis grows until the system ends it, and ended jobs are not forgotten earlier \
                         when memory is short; set `maxmemory`";
const UNGUARDED: &str = "this Redis has replicas and continues without them: after a failover it may throw away what it took \
                         meanwhile; set `min-replicas-to-write 1`";

/// How many replicas are online: `slave0:ip=…,port=…,state=online,…`
fn online(info: &str) -> u64 {
    let is_replica = |line: &&str| {
        let number = line.strip_prefix("slave").and_then(|rest| rest.split_once(':')).map(|(number, _)| number);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    info.lines().filter(is_replica).filter(|line| line.contains("state=online")).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "aof_enabled:1\r\nconnected_slaves:2\r\nslave0:ip=a,port=1,state=online,offset=1,lag=0\r\n\
                        slave1:ip=b,port=1,state=wait_bgsave,offset=0,lag=0\r\nslave_expires_tracked_keys:0\r\n";

    fn wrong(info: &str, durability: &Durability) -> Vec<&'static str> {
        let checks = checks(info, durability).into_iter();
        checks.filter(|check| check.problem.is_some()).map(|check| check.name).collect()
    }

    #[test]
    fn lagging_replicas_do_not_count_and_unguarded_failover_warns() {
        assert_eq!(wrong(INFO, &Durability::Async), ["failover"]);
        let guarded = format!("{INFO}min_slaves_good_slaves:1\r\n");
        assert_eq!(wrong(&guarded, &Durability::Replicated(1)), [""; 0]);
        assert_eq!(wrong(&guarded, &Durability::Replicated(2)), ["replicas"]);
        assert_eq!(wrong("aof_enabled:0\r\nconnected_slaves:0\r\n", &Durability::Async), ["append-only"]);
    }
}
