//! When a delivery that failed is tried again.

use std::time::Duration;

use crate::job::chance::between;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// The pauses between attempts, in ms. Standard Webhooks 1.0, "Deliverability and reliability", has this table.
const PAUSES: [u64; 9] =
    [5_000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
/// Each pause is up to a tenth longer, so that what failed together is not sent together.
const SPREAD: u64 = 10;

/// The pause after this many attempts, unless the receiver has asked for a longer one; `None` after the last attempt.
pub(super) fn pause(attempts: u32, retry_after: Option<Duration>) -> Option<Duration> {
    let ms = *PAUSES.get(usize::try_from(attempts).ok()?.checked_sub(1)?)?;
    let pause = Duration::from_millis(between(ms, ms + ms / SPREAD));
    Some(retry_after.map_or(pause, |asked| asked.max(pause)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_after_ten_attempts() {
        let least = |attempts| pause(attempts, None).map(|pause| pause.as_secs());
        let seconds: Vec<_> = (1..=10).map_while(least).collect();
        let table = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
        assert_eq!(seconds.len(), table.len());
        for (pause, asked) in seconds.iter().zip(table) {
            assert!((asked..=asked + asked / 10).contains(pause), "{pause} for {asked}");
        }
        assert_eq!(pause(10, Some(Duration::from_secs(1))), None);
    }

    #[test]
    fn longer_retry_after_counts_and_shorter_does_not() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(pause(1, Some(hour)), Some(hour));
        assert!(pause(2, Some(Duration::from_secs(1))) >= Some(Duration::from_secs(300)));
    }
}
