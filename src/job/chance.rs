//! What is left to chance.

pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}

/// 0 … 200 thousandths, for backoff.
pub fn jitter() -> u64 {
    u64::from(u16::from_be_bytes(random())) % 201
}

/// A number in the range, for `retry_after_ms` and the pauses of background tasks.
pub fn between(low: u64, high: u64) -> u64 {
    low + u64::from(u32::from_be_bytes(random())) % (high.saturating_sub(low) + 1)
}
