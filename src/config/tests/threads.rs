use std::thread::available_parallelism;

use super::*;

#[test]
fn detects_redis_on_the_same_cpus() {
    let is_here = |url: &str| serve(&format!("--redis-url {url}")).store.redis_url().is_on_this_machine();
    for url in [
        "unix:///run/redis.sock?db=1",
        "redis://127.0.0.1",
        "rediss://u:pw@LocalHost:6379/3",
        "redis://[::1]:1/0?protocol=resp3",
        "redis+cluster://u:pw@127.0.0.1:1,localhost:2",
    ] {
        assert!(is_here(url), "{url}");
    }
    for url in [
        "redis://10.0.0.1",
        "redis://localhost@redis.example:6379",
        "redis://localhost.example",
        "redis+cluster://127.0.0.1:1,10.0.0.1:2",
        "redis+sentinel://127.0.0.1/primary",
    ] {
        assert!(!is_here(url), "{url}");
    }
    assert!(serve("").store.redis_url().is_on_this_machine());
}

#[test]
fn a_thread_serves_on_each_processor_that_redis_leaves() {
    let processors = available_parallelism().map_or(1, usize::from);
    assert_eq!(serve("").threads(), (processors - 1).max(1));
    assert_eq!(serve("--redis-url redis://10.0.0.1").threads(), processors);
    for line in ["--threads 3", "--threads 3 --redis-url redis://10.0.0.1"] {
        assert_eq!(serve(line).threads(), 3, "{line}");
    }
    for line in ["--threads 0", "--threads 1025", "--threads all"] {
        assert!(refusal(line).contains("--threads"), "{line}");
    }
}
