//! The four formats of texts, as definitions of our own that the page has too. `tests/forms/cases.json` holds both to them.

use std::{net::Ipv6Addr, sync::LazyLock};

use regex::Regex;

/// A format that is asserted, not only drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// [An address as HTML defines it](https://html.spec.whatwg.org/#valid-e-mail-address).
    Email,
    /// An `http` or `https` URI (RFC 3986) with a host of ASCII letters, digits, `.`, `_` and `-`, or an IPv6 address in
    /// brackets, and without a user.
    Uri,
    /// A day that exists, as `YYYY-MM-DD`, from the year 1.
    Date,
    /// RFC 3339 with `T`, and `Z` or an offset, both in upper case; seconds end at 59.
    DateTime,
}

static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    let label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    regex(&format!(r"^[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{label}(?:\.{label})*\z"))
});

static URI: LazyLock<Regex> = LazyLock::new(|| {
    let part = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})";
    let with_question_mark = part.replace("@/", "@/?");
    regex(&format!(
        r"^[Hh][Tt][Tt][Pp][Ss]?://(?:[A-Za-z0-9._-]+|\[(?<ipv6>[0-9A-Fa-f:.]+)\])(?::(?<port>[0-9]*))?(?:/{part}*)?(?:\?{with_question_mark}*)?(?:#{with_question_mark}*)?\z"
    ))
});

static DATE: LazyLock<Regex> = LazyLock::new(|| regex(r"^([0-9]{4})-([0-9]{2})-([0-9]{2})\z"));

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let minutes = "(?:[01][0-9]|2[0-3]):[0-5][0-9]";
    regex(&format!(r"^{minutes}:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-]{minutes})\z"))
});

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Email, Self::Uri, Self::Date, Self::DateTime];

    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    pub fn holds(self, text: &str) -> bool {
        match self {
            Self::Email => EMAIL.is_match(text),
            Self::Uri => is_uri(text),
            Self::Date => is_date(text),
            Self::DateTime => text.split_once('T').is_some_and(|(date, time)| is_date(date) && TIME.is_match(time)),
        }
    }

    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::Email => "must be an e-mail address",
            Self::Uri => "must be an http or https address without a user",
            Self::Date => "must be a day that exists, as YYYY-MM-DD",
            Self::DateTime => "must be a time with an offset, as 2026-01-31T12:00:00Z",
        }
    }
}

fn is_uri(text: &str) -> bool {
    URI.captures(text).is_some_and(|parts| {
        let is_address = parts.name("ipv6").is_none_or(|address| address.as_str().parse::<Ipv6Addr>().is_ok());
        let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok();
        is_address && parts.name("port").is_none_or(|port| is_port(port.as_str()))
    })
}

fn is_date(text: &str) -> bool {
    let number = |text: &str| text.parse::<i8>().unwrap_or_default();
    DATE.captures(text).is_some_and(|parts| {
        let year = parts[1].parse().unwrap_or_default();
        year > 0 && jiff::civil::Date::new(year, number(&parts[2]), number(&parts[3])).is_ok()
    })
}
