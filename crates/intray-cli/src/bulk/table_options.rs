//! The options of `intray import --csv`.

use clap::{Args, builder::RangedU64ValueParser};

use intray_job::{Invalid, limits};

#[derive(Debug, Default, Args)]
pub struct TableOptions {
    /// FILE is a table, as CSV in UTF-8: its first row names the columns, and each row after it becomes a job
    #[arg(long, conflicts_with_all = ["payloads", "exported"])]
    pub csv: bool,
    /// Where a column goes: payload.NAME, priority, client, skill, assignees, excluded, delay_ms or dedupe_key. Repeatable, also
    /// for one column [default: payload.COLUMN]
    #[arg(long = "map", value_name = "COLUMN=TARGET", requires = "csv", value_parser = ColumnMapping::parse)]
    pub mappings: Vec<ColumnMapping>,
    /// What separates two cells, one character or the word tab [default: comma, semicolon or tab, as the first row has it]
    #[arg(long, value_name = "CHARACTER", requires = "csv", value_parser = Separator::parse)]
    pub separator: Option<Separator>,
    /// Ask this many people about each row: a batch of opinions a row, 2 to 9
    #[arg(long, value_name = "N", requires = "csv", value_parser = RangedU64ValueParser::<u32>::new().range(overlaps()))]
    pub overlap: Option<u32>,
    /// Send nothing: show the first five jobs, the refused rows and the counts
    #[arg(long, requires = "csv")]
    pub dry_run: bool,
}

fn overlaps() -> std::ops::RangeInclusive<u64> {
    (*limits::OVERLAP.start()).into()..=(*limits::OVERLAP.end()).into()
}

/// The byte between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Separator(pub u8);

impl Separator {
    const RULE: Invalid = Invalid("must be one character of ASCII, but no quote and no line break, or the word tab");

    fn parse(text: &str) -> Result<Self, Invalid> {
        match text.as_bytes() {
            b"tab" | b"\\t" => Ok(Self(b'\t')),
            [byte] => Self::of(*byte).ok_or(Self::RULE),
            _ => Err(Self::RULE),
        }
    }

    pub fn of(byte: u8) -> Option<Self> {
        (byte.is_ascii() && !b"\"\r\n\0".contains(&byte)).then_some(Self(byte))
    }
}

/// What a column sets in a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnTarget {
    /// A member of the payload, as text.
    Payload(String),
    Priority,
    Client,
    Skill,
    Assignees,
    Excluded,
    DelayMs,
    DedupeKey,
}

impl ColumnTarget {
    const FIELDS: [(&'static str, Self); 7] = [
        ("priority", Self::Priority),
        ("client", Self::Client),
        ("skill", Self::Skill),
        ("assignees", Self::Assignees),
        ("excluded", Self::Excluded),
        ("delay_ms", Self::DelayMs),
        ("dedupe_key", Self::DedupeKey),
    ];

    fn parse(text: &str) -> Option<Self> {
        if let Some(member) = text.strip_prefix("payload.").filter(|member| !member.is_empty()) {
            return Some(Self::Payload(member.to_owned()));
        }
        Self::FIELDS.into_iter().find(|(word, _)| *word == text).map(|(_, target)| target)
    }

    /// The job's field, as an answer of the service names it.
    pub fn field(&self) -> &'static str {
        Self::FIELDS.iter().find(|(_, target)| target == self).map_or("payload", |(word, _)| *word)
    }

    /// The word that names it in `--map`.
    pub fn word(&self) -> String {
        match self {
            Self::Payload(member) => format!("payload.{member}"),
            field => field.field().to_owned(),
        }
    }
}

/// A column by its name, and what it sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMapping {
    pub column: String,
    pub target: ColumnTarget,
}

impl ColumnMapping {
    const RULE: Invalid = Invalid(
        "must be COLUMN=TARGET; a target is payload.NAME, priority, client, skill, assignees, excluded, delay_ms or dedupe_key",
    );

    /// A column's name may have an equals sign: the first one with a target after it counts.
    fn parse(text: &str) -> Result<Self, Invalid> {
        let mut signs =
            text.match_indices('=').map(|(at, _)| (text[..at].trim(), ColumnTarget::parse(&text[at + 1..])));
        let (column, target) = signs.find(|(_, target)| target.is_some()).ok_or(Self::RULE)?;
        let target = target.filter(|_| !column.is_empty()).ok_or(Self::RULE)?;
        Ok(Self { column: column.to_owned(), target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_may_have_an_equals_sign() {
        let parsed = |text: &str| ColumnMapping::parse(text).map(|map| (map.column, map.target.word()));
        let is = |column: &str, target: &str| Ok((column.to_owned(), target.to_owned()));
        assert_eq!(parsed("Prio=priority"), is("Prio", "priority"));
        assert_eq!(parsed("a=b=delay_ms"), is("a=b", "delay_ms"));
        assert_eq!(parsed("a=payload.b=c"), is("a", "payload.b=c"));
        assert_eq!(parsed("For whom=payload.for.whom"), is("For whom", "payload.for.whom"));
        for wrong in ["", "a", "=priority", "a=", "a=payload", "a=payload.", "a=Priority", "a=queue"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn separator_is_one_byte_that_parts_no_rows() {
        for (text, byte) in [(",", b','), (";", b';'), ("tab", b'\t'), ("\\t", b'\t'), ("\t", b'\t'), ("|", b'|')] {
            assert_eq!(Separator::parse(text), Ok(Separator(byte)), "{text}");
        }
        for wrong in ["", "\"", "\n", "\r", ",,", "§", "tabs"] {
            assert!(Separator::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
