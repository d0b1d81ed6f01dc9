//! Random numbers.

use std::cell::RefCell;

/// Bytes read from the operating system at a time.
const POOL: usize = 1_024;

thread_local! {
    /// The unused bytes of the last read; used ones are zeroed.
    static LEFT: RefCell<([u8; POOL], usize)> = const { RefCell::new(([0; POOL], POOL)) };
}

/// Unguessable bytes that were not used before.
pub fn random<const N: usize>() -> [u8; N] {
    const { assert!(N <= POOL) };
    LEFT.with_borrow_mut(|(pool, given)| {
        if *given + N > POOL {
            getrandom::fill(pool).expect("the operating system has randomness");
            *given = 0;
        }
        let bytes = &mut pool[*given..*given + N];
        *given += N;
        std::array::from_fn(|i| std::mem::take(&mut bytes[i]))
    })
}

/// 0 to 200 thousandths, for the jitter of a backoff.
pub fn jitter() -> u64 {
    u64::from(u16::from_be_bytes(random())) % 201
}

/// A random number in the range, for `retry_after_ms` and the pauses of background tasks.
pub fn between(low: u64, high: u64) -> u64 {
    low + u64::from(u32::from_be_bytes(random())) % (high.saturating_sub(low) + 1)
}
