//! The expiry of a key or a token, by this machine's clock: credentials do not involve Redis.

use std::{fmt, str::FromStr, time::Duration};

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

use crate::job::{Invalid, Millis};

/// The first instant at which a credential is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CredentialExpiry(Millis);

impl CredentialExpiry {
    const RULE: Invalid = Invalid("must be a date or a time by RFC 3339, like 2026-12-31 or 2026-12-31T18:00:00Z");
    const SHAPE_OF_A_DATE: &str = "0000-00-00";

    /// From a token's `exp`, which may have a fraction.
    pub(super) fn from_seconds(seconds: f64) -> Self {
        Self(Millis((seconds * 1e3) as u64))
    }

    pub(super) fn from_millis(millis: u64) -> Self {
        Self(Millis(millis))
    }

    /// `duration` from now.
    pub(super) fn after(duration: Duration) -> Self {
        let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
        Self(Millis(now.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))))
    }

    pub fn instant(self) -> Millis {
        self.0
    }

    pub fn has_expired(self) -> bool {
        self.remaining().is_zero()
    }

    pub(super) fn remaining(self) -> Duration {
        let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
        Duration::from_millis(self.0.0.saturating_sub(now))
    }
}

/// A date includes its whole day in UTC: a key "until the 31st" works on the 31st.
impl FromStr for CredentialExpiry {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let end = if is_shaped(text, Self::SHAPE_OF_A_DATE) { end_of_day(text) } else { instant(text) };
        let millis = end.ok_or(Self::RULE)?.as_millisecond();
        Ok(Self(Millis(millis.try_into().unwrap_or(0))))
    }
}

impl fmt::Display for CredentialExpiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = i64::try_from(self.0.0).unwrap_or(i64::MAX);
        write!(f, "{}", Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX))
    }
}

fn end_of_day(text: &str) -> Option<Timestamp> {
    let next = text.parse::<Date>().ok()?.checked_add(1.day()).ok()?;
    TimeZone::UTC.to_timestamp(next.to_datetime(jiff::civil::Time::midnight())).ok()
}

/// Parses RFC 3339: date, time and offset are all required.
fn instant(text: &str) -> Option<Timestamp> {
    let seconds = text.get(..19).filter(|seconds| is_shaped(seconds, "0000-00-00T00:00:00"))?;
    let zone = text.get(seconds.len()..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let is_zone = zone == "Z" || zone.split_at_checked(1).is_some_and(|(_, rest)| is_shaped(rest, "00:00"));
    if is_zone { text.parse().ok() } else { None }
}

/// Whether the text has the shape: `0` matches a digit, any other character itself.
fn is_shaped(text: &str, shape: &str) -> bool {
    let fits = |(byte, shape): (u8, u8)| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant_of(text: &str) -> Option<String> {
        text.parse::<CredentialExpiry>().ok().map(|until| until.to_string())
    }

    #[test]
    fn date_covers_its_day_and_time_is_an_instant() {
        for (text, instant) in [
            ("2026-12-31", "2027-01-01T00:00:00Z"),
            ("2028-02-28", "2028-02-29T00:00:00Z"),
            ("2026-12-31T18:00:00Z", "2026-12-31T18:00:00Z"),
            ("2026-12-31T18:00:00.5+01:00", "2026-12-31T17:00:00.5Z"),
            ("1960-01-01", "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(instant_of(text).as_deref(), Some(instant), "{text}");
        }
        for wrong in [
            "",
            "tomorrow",
            "2026-12-32",
            "2026-02-29",
            "2026-12-31T18:00:00",
            "2026-12-31 18:00:00Z",
            "2026-12-31T18:00Z",
            "2026-12-31T18:00:00Z[UTC]",
            "2026-12-31T18:00:00+0100",
            "20261231",
            "9999-12-31",
            "31.12.2026",
        ] {
            assert_eq!(instant_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn credential_is_expired_from_its_instant_on() {
        let ahead = |seconds: i64| CredentialExpiry::from_seconds((Timestamp::now().as_second() + seconds) as f64);
        assert!(ahead(-1).has_expired() && ahead(0).has_expired() && !ahead(60).has_expired());
        assert!(
            !CredentialExpiry::from_seconds(f64::MAX).has_expired()
                && CredentialExpiry::from_seconds(-1.0).has_expired()
        );
    }
}
