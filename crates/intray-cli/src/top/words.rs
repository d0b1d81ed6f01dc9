//! Formats numbers and names for table cells.

use std::time::Duration;

const NOTHING: &str = "-";

/// Formats an age in its two largest units.
pub(super) fn age(ms: Option<u64>) -> String {
    let Some(ms) = ms else { return NOTHING.to_owned() };
    let seconds = Duration::from_millis(ms).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Formats a rate per second.
pub(super) fn rate(rate: Option<f64>) -> String {
    match rate {
        None => NOTHING.to_owned(),
        Some(rate) if rate < 99.95 => format!("{rate:.1}"),
        Some(rate) => format!("{rate:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_rates_are_short() {
        let ages = [999, 59_999, 60_000, 3_599_000, 3_600_000, 86_399_000, 90_000_000].map(|ms| age(Some(ms)));
        assert_eq!(ages, ["0s", "59s", "1m00s", "59m59s", "1h00m", "23h59m", "1d01h"]);
        assert_eq!([0.0, 0.25, 99.94, 99.96, 12_345.6].map(|n| rate(Some(n))), ["0.0", "0.2", "99.9", "100", "12346"]);
        assert_eq!((age(None), rate(None)), ("-".to_owned(), "-".to_owned()));
    }
}
