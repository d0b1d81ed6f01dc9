use super::*;

fn time(line: &str) -> Result<u32, String> {
    serve(line).store.redis_timeout_ms()
}

#[test]
fn redis_has_from_a_tenth_of_a_second_to_half_a_minute_to_answer() {
    assert_eq!(time(""), Ok(1_100));
    for ms in [100, 1_100, 30_000] {
        assert_eq!(time(&format!("--redis-timeout-ms {ms}")), Ok(ms));
    }
    for wrong in ["0", "99", "30001"] {
        let message = refusal(&format!("--redis-timeout-ms {wrong}"));
        assert!(message.contains("--redis-timeout-ms") && message.contains("100..=30000"), "{message}");
    }
}

#[test]
fn commands_that_open_a_redis_know_its_timeout() {
    for command in ["serve", "check", "migrate", "move --to redis://there"] {
        assert!(parse(&format!("{command} --redis-timeout-ms 30000")).is_ok(), "{command}");
    }
}

/// It syncs its file once a second, so that a confirmation cannot come earlier.
#[test]
fn synced_redis_needs_more_than_a_second() {
    let synced = "--durability synced --redis-url redis://h";
    assert_eq!(time(synced), Ok(1_100));
    let message = time(&format!("{synced} --redis-timeout-ms 1099")).expect_err("a refusal");
    assert!(message.contains("at least 1100"), "{message}");
    assert_eq!(time("--durability synced --redis-timeout-ms 100"), Ok(100), "the private server syncs at once");
}
