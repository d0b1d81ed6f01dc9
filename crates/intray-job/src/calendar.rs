//! Time zones by their IANA names, and the days of a zone.

use std::{borrow::Cow, fmt, sync::LazyLock};

use jiff::{
    Timestamp, ToSpan,
    civil::Date,
    tz::{TimeZone, TimeZoneDatabase},
};

use super::{Invalid, Millis, serialize_displayed};

/// The zones that the program carries: it needs no files of the machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
const EPOCH: Date = Date::constant(1970, 1, 1);

/// A zone of the IANA database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneName(Cow<'static, str>);

impl ZoneName {
    pub const UTC: Self = Self(Cow::Borrowed("UTC"));
    pub const RULE: Invalid = Invalid("must be a time zone by its IANA name, like UTC or Europe/Berlin");

    /// Upper and lower case are the same; the value has the spelling of the database.
    ///
    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let zone = ZONES.get(text).ok().filter(|zone| !zone.is_unknown());
        let name = zone.as_ref().and_then(TimeZone::iana_name).ok_or(Self::RULE)?;
        Ok(Self(Cow::Owned(name.to_owned())))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The day in this zone.
    pub fn day_of(&self, time: Millis) -> Day {
        let zone = ZONES.get(&self.0).unwrap_or(TimeZone::UTC);
        let time = Timestamp::from_millisecond(time.0.cast_signed()).unwrap_or(Timestamp::MAX);
        Day(zone.to_datetime(time).date())
    }
}

impl fmt::Display for ZoneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    pub const RULE: Invalid = Invalid("must be a day like 2026-11-26");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let is_shaped = text.len() == 10
            && text
                .bytes()
                .enumerate()
                .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
        text.parse().ok().filter(|_| is_shaped).map(Self).ok_or(Self::RULE)
    }

    /// The day this many days before.
    #[must_use]
    pub fn before(self, days: u32) -> Self {
        Self(self.0.checked_sub(i64::from(days).days()).unwrap_or(Date::MIN))
    }

    /// How many days the other is earlier; negative if it is later.
    pub fn since(self, earlier: Self) -> i64 {
        self.number() - earlier.number()
    }

    fn number(self) -> i64 {
        EPOCH.until(self.0).map_or(0, |span| i64::from(span.get_days()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

serialize_displayed!(ZoneName, Day);

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::parse(text).expect("a day")
    }

    fn at(text: &str) -> Millis {
        Millis(text.parse::<Timestamp>().expect("a time").as_millisecond().cast_unsigned())
    }

    #[test]
    fn zones_have_the_names_of_the_database() {
        for (text, name) in [("UTC", "UTC"), ("europe/BERLIN", "Europe/Berlin"), ("Asia/Kolkata", "Asia/Kolkata")] {
            assert_eq!(ZoneName::parse(text).map(|zone| zone.to_string()), Ok(name.to_owned()));
        }
        for wrong in ["", "Berlin", "Europe/Bonn", "+01:00", "Etc/Unknown", "Europe/Berlin ", "../UTC"] {
            assert_eq!(ZoneName::parse(wrong), Err(ZoneName::RULE), "{wrong}");
        }
    }

    #[test]
    fn days_begin_at_midnight_of_the_zone() {
        let of = |zone: &str, time: &str| ZoneName::parse(zone).expect("a zone").day_of(at(time)).to_string();
        assert_eq!(of("UTC", "2026-11-25T23:59:59.999Z"), "2026-11-25");
        assert_eq!(of("Asia/Kolkata", "2026-11-25T18:29:59.999Z"), "2026-11-25");
        assert_eq!(of("Asia/Kolkata", "2026-11-25T18:30:00Z"), "2026-11-26");
        assert_eq!(of("America/Los_Angeles", "2026-11-26T07:59:59Z"), "2026-11-25");
    }

    #[test]
    fn days_have_23_to_25_hours_where_clocks_change() {
        let berlin = ZoneName::parse("Europe/Berlin").expect("a zone");
        for (date, begin, hours) in
            [("2026-03-29", "2026-03-28T23:00:00Z", 23), ("2026-10-25", "2026-10-24T22:00:00Z", 25)]
        {
            let hour = |n: u64| berlin.day_of(Millis(at(begin).0 + n * 3_600_000));
            assert!((0..hours).all(|n| hour(n) == day(date)), "{date}");
            assert_eq!(hour(hours).since(day(date)), 1);
        }
    }

    #[test]
    fn days_are_read_in_one_form_and_counted() {
        for wrong in ["2026-1-05", "20260105", "2026-02-29", "2026-01-05T00", "+02026-01", "2026/01/05", ""] {
            assert_eq!(Day::parse(wrong), Err(Day::RULE), "{wrong}");
        }
        assert_eq!(day("2026-03-01").since(day("2026-02-27")), 2);
        assert_eq!(
            (day("2026-03-01").before(1), day("0000-01-01").before(400).to_string().is_empty()),
            (day("2026-02-28"), false)
        );
    }
}
