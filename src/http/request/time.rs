//! Times by RFC 3339, exactly as a validator of the contract accepts them.

use jiff::{
    civil::DateTime,
    tz::{Offset, TimeZone},
};
use serde_json::value::RawValue;

use crate::{
    http::{request::rules, response::field_error::Rule},
    job::{Invalid, Millis},
};

const RULE: &str = "must be a time by RFC 3339, like 2026-11-21T09:15:29.123Z";
/// The latest time that can be computed with.
const TOO_FAR: &str = "must not be after 9999-12-30T22:00:00Z";

/// Times before 1970 count as 1970. They are compared with Redis's clock only.
pub fn time(raw: &RawValue) -> Result<Millis, Rule> {
    let text = rules::text(raw).map_err(|_| RULE)?;
    Ok(of_text(&text)?)
}

/// The same for a query parameter.
pub fn of_text(text: &str) -> Result<Millis, Invalid> {
    let (local, offset) = parts(text).ok_or(Invalid(RULE))?;
    let time = TimeZone::fixed(offset).to_timestamp(local).map_err(|_| Invalid(TOO_FAR))?;
    // `:60` is valid only as a leap second at the end of a UTC day.
    if text.get(17..19) == Some("60") && time.as_second().rem_euclid(86_400) != 86_399 {
        return Err(Invalid(RULE));
    }
    Ok(Millis(time.as_millisecond().try_into().unwrap_or(0)))
}

/// `2026-11-21T09:15:29.123` and `Z`, by section 5.6.
fn parts(text: &str) -> Option<(DateTime, Offset)> {
    let (seconds, rest) = text.split_at_checked("2026-11-21T09:15:29".len())?;
    let shaped = seconds.bytes().zip(b"0000-00-00T00:00:00").all(|(byte, &shape)| match shape {
        b'0' => byte.is_ascii_digit(),
        other => byte.eq_ignore_ascii_case(&other),
    });
    let (fraction, offset) = rest.split_at(rest.find(['Z', 'z', '+', '-'])?);
    let digits = fraction.strip_prefix('.').unwrap_or("0");
    if !shaped || !(fraction.is_empty() || fraction.starts_with('.')) || !is_number(digits) {
        return None;
    }
    let millis: i32 = format!("{digits:0<3}").get(..3)?.parse().ok()?;
    let time: DateTime = seconds.to_ascii_uppercase().parse().ok()?;
    Some((time.with().subsec_nanosecond(millis * 1_000_000).build().ok()?, zone(offset)?))
}

fn zone(text: &str) -> Option<Offset> {
    if text.eq_ignore_ascii_case("z") {
        return Some(Offset::UTC);
    }
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let part = |text: &str, max: i32| {
        (text.len() == 2 && is_number(text)).then(|| text.parse().ok())?.filter(|&n: &i32| n <= max)
    };
    let seconds = part(hours, 23)? * 3_600 + part(minutes, 59)? * 60;
    Offset::from_seconds(if text.starts_with('-') { -seconds } else { seconds }).ok()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(time(raw(r#""2020-01-01T01:00:00.5+01:00""#)), Ok(Millis(1_577_836_800_500)));
        assert_eq!(time(raw(r#""1960-01-01T00:00:00Z""#)), Ok(Millis(0)));
        for right in [
            "2020-01-01t00:00:00z",
            "2020-01-01T00:00:00.123456789012-00:00",
            "2020-02-29T23:59:59+23:59",
            "2016-12-31T23:59:60Z",
            "2017-01-01T00:59:60+01:00",
        ] {
            assert!(time(raw(&format!("{right:?}"))).is_ok(), "{right}");
        }
        for wrong in [
            "now",
            "2020-01-01",
            "2020-01-01T00:00:00",
            "2020-01-01T00:00Z",
            "2020-01-01 00:00:00Z",
            "2020-01-01T00Z",
            "20200101T000000Z",
            "2020-01-01T00:00:00+01",
            "2020-01-01T00:00:00+0100",
            "2020-01-01T00:00:00+01:00:00",
            "2020-01-01T00:00:00+24:00",
            "2020-01-01T00:00:00,5Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00Z[UTC]",
            "2020-01-01T00:00:00+00:00[Europe/Berlin]",
            "+002020-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "2020-02-30T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T12:00:60Z",
            "２020-01-01T00:00:00Z",
        ] {
            assert_eq!(time(raw(&format!("{wrong:?}"))), Err(RULE.into()), "{wrong}");
        }
        assert!(time(raw("0")).is_err());
    }

    #[test]
    fn out_of_range_year_has_its_own_error() {
        for far in ["9999-12-31T23:59:59Z", "9999-12-30T23:00:00Z", "9999-12-30T22:30:00-12:00"] {
            assert_eq!(time(raw(&format!("{far:?}"))), Err(TOO_FAR.into()), "{far}");
        }
        assert!(time(raw(r#""9999-12-30T22:00:00Z""#)).is_ok());
    }
}
