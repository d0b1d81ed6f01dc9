//! Instants and backoff.

use jiff::{Timestamp, tz::Offset};
use serde::{Serialize, Serializer, ser::Error};

/// Milliseconds since 1970 by Redis's clock. In JSON: RFC 3339, UTC, with milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// Zero when the other is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        let time = Offset::UTC.to_datetime(Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX));
        let mut text = *b"0000-00-00T00:00:00.000Z";
        // Written by hand: answers are full of times, and `format!` takes half as many instructions again.
        write_digits(&mut text[..4], time.year());
        write_digits(&mut text[5..7], time.month().into());
        write_digits(&mut text[8..10], time.day().into());
        write_digits(&mut text[11..13], time.hour().into());
        write_digits(&mut text[14..16], time.minute().into());
        write_digits(&mut text[17..19], time.second().into());
        write_digits(&mut text[20..23], time.millisecond());
        serializer.serialize_str(str::from_utf8(&text).map_err(Error::custom)?)
    }
}

/// Fills the digits from the right.
fn write_digits(digits: &mut [u8], number: i16) {
    let mut left = number.unsigned_abs();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
}

/// How long a job is delayed after a fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    None,
    Fixed { delay_ms: u32 },
    Exponential { delay_ms: u32, max_ms: u32 },
}

impl Serialize for Backoff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Delays {
            r#type: &'static str,
            delay_ms: u32,
            max_ms: Option<u32>,
        }
        match *self {
            Self::None => serializer.serialize_none(),
            Self::Fixed { delay_ms } => Delays { r#type: "fixed", delay_ms, max_ms: None }.serialize(serializer),
            Self::Exponential { delay_ms, max_ms } => {
                Delays { r#type: "exponential", delay_ms, max_ms: Some(max_ms) }.serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_in_utc() {
        let time = |millis| serde_json::to_string(&Millis(millis)).expect("JSON");
        assert_eq!(time(1_795_252_529_123), r#""2026-11-21T09:15:29.123Z""#);
        assert_eq!(time(1_795_252_529_000), r#""2026-11-21T09:15:29.000Z""#);
        assert_eq!(time(0), r#""1970-01-01T00:00:00.000Z""#);
        assert!(time(u64::MAX).starts_with(r#""9999-"#));
        for millis in (0..253_402_200_000_000).step_by(79_190_001_234) {
            let long = Timestamp::from_millisecond(millis).expect("a time");
            assert_eq!(time(millis.unsigned_abs()), format!(r#""{long:.3}""#));
        }
    }
}
