//! Jobs as CSV (RFC 4180) in which no cell is a formula.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    http::{
        request::{query::Query, rules},
        response::{field_error::Rule, formula, shapes},
    },
    job::limits,
};

/// Columns of a table without `columns`.
const DEFAULT_COLUMNS: [&str; 12] = [
    "id",
    "state",
    "priority",
    "client",
    "batch",
    "attempts",
    "enqueued_at",
    "ended_at",
    "completed/worker",
    "completed/held_ms",
    "payload",
    "result",
];

/// The columns: JSON pointers (RFC 6901), whose first slash may be left out.
pub struct Columns(Vec<Column>);

struct Column {
    name: String,
    /// The unescaped parts of the pointer.
    steps: Vec<String>,
}

impl Columns {
    pub fn read(query: &mut Query) -> Self {
        let names = query.list("columns", limits::COLUMNS);
        let columns = names.iter().filter_map(|name| match Column::of(name) {
            Ok(column) => Some(column),
            Err(rule) => {
                query.reject("columns", rule);
                None
            }
        });
        let columns: Vec<_> = columns.collect();
        if names.is_empty() {
            Self(DEFAULT_COLUMNS.iter().filter_map(|name| Column::of(name).ok()).collect())
        } else {
            Self(columns)
        }
    }

    /// The header row.
    pub fn head(&self) -> Bytes {
        let mut text = Vec::new();
        write(self.0.iter().map(|column| quote_formula(column.name.as_str().into())), &mut text);
        text.into()
    }

    /// # Errors
    /// An error, when a job cannot be serialized.
    pub fn row(&self, job: &shapes::JobBody<'_>, text: &mut Vec<u8>) -> serde_json::Result<()> {
        let job = serde_json::value::to_raw_value(job)?;
        write(self.0.iter().map(|column| column.cell(&job)), text);
        Ok(())
    }
}

impl Column {
    fn of(name: &str) -> Result<Self, Rule> {
        let steps = name.strip_prefix('/').unwrap_or(name).split('/');
        let is_escaped = |step: &str| step.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        let steps: Vec<_> = steps.map(str::to_owned).collect();
        if name.is_empty() || !steps.iter().all(|step| is_escaped(step)) {
            return Err("must be JSON pointers, like id or /payload/photo".into());
        }
        let steps = steps.into_iter().map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Self { name: name.to_owned(), steps })
    }

    /// Text without quotes, objects and arrays as JSON, and nothing for a missing value.
    fn cell<'j>(&self, job: &'j RawValue) -> Cow<'j, str> {
        let Some(found) = self.steps.iter().try_fold(job, |at, step| part(at, step)) else { return "".into() };
        match found.get().as_bytes().first() {
            Some(b'"') => quote_formula(rules::unicode_text(found).unwrap_or(found.get().into())),
            _ if found.get() == "null" => "".into(),
            _ => found.get().into(),
        }
    }
}

fn part<'j>(of: &'j RawValue, step: &str) -> Option<&'j RawValue> {
    match of.get().as_bytes().first()? {
        b'{' => member(of.get(), step),
        b'[' => {
            let place: usize = step.parse().ok().filter(|place: &usize| place.to_string() == step)?;
            serde_json::from_str::<Vec<&'j RawValue>>(of.get()).ok()?.get(place).copied()
        }
        _ => None,
    }
}

/// Quotes text that a spreadsheet would run as a formula.
pub fn quote_formula(cell: Cow<'_, str>) -> Cow<'_, str> {
    if formula::begins(&cell) { format!("'{cell}").into() } else { cell }
}

/// By hand: the crate `csv` quotes what RFC 4180 requires, or every cell. This also quotes `'` and blanks at the ends of a cell,
/// which readers may strip.
pub fn write<'c>(cells: impl Iterator<Item = Cow<'c, str>>, text: &mut Vec<u8>) {
    for (n, cell) in cells.enumerate() {
        if n > 0 {
            text.push(b',');
        }
        let is_plain = !cell.contains([',', '"', '\r', '\n', '\'']) && cell.trim() == cell;
        if is_plain {
            text.extend(cell.as_bytes());
        } else {
            text.extend([b"\"", cell.replace('"', "\"\"").as_bytes(), b"\""].concat());
        }
    }
    text.extend(b"\r\n");
}

/// The last member of that name, also in an object with names that are not Unicode; `None` when there is none.
fn member<'t>(text: &'t str, name: &str) -> Option<&'t RawValue> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(MemberByName(name)).ok()?
}

/// Names stay raw until they are compared.
struct MemberByName<'n>(&'n str);

#[derive(Deserialize)]
struct RawKey<'b>(#[serde(borrow)] &'b RawValue);

impl<'de> Visitor<'de> for MemberByName<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some((RawKey(key), value)) = map.next_entry()? {
            if rules::unicode_text(key).is_some_and(|key| key == self.0) {
                found = Some(value);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(column: &str, job: &str) -> String {
        let job = RawValue::from_string(job.to_owned()).expect("JSON");
        let mut text = Vec::new();
        write([Column::of(column).expect("a pointer").cell(&job)].into_iter(), &mut text);
        String::from_utf8(text).expect("text").trim_end_matches("\r\n").to_owned()
    }

    #[test]
    fn cell_is_selected_by_pointer() {
        let job = r#"{"id":"a","payload":{"a/b":[{"c~d":1e400},"x"],"":2},"n":null,"t":true,
            "odd":{"v":"fine","\ud800":1,"w":"first","\u0077":"last"}}"#;
        for (column, expected) in [
            ("id", "a"),
            ("/id", "a"),
            ("/payload/a~1b/0/c~0d", "1e400"),
            ("payload/a~1b/1", "x"),
            ("payload/a~1b/01", ""),
            ("payload/a~1b/2", ""),
            ("payload/", "2"),
            ("payload/a~1b", r#""[{""c~d"":1e400},""x""]""#),
            ("n", ""),
            ("t", "true"),
            ("id/x", ""),
            ("none", ""),
            ("odd/v", "fine"),
            ("odd/w", "last"),
        ] {
            assert_eq!(cell(column, job), expected, "{column}");
        }
        assert!(Column::of("").is_err() && Column::of("/a~2").is_err() && Column::of("a~").is_err());
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        for (value, expected) in [
            (r#""=1+1""#, r#""'=1+1""#),
            (r#""+1""#, r#""'+1""#),
            (r#""-1""#, r#""'-1""#),
            (r#""@a""#, r#""'@a""#),
            (r#""\t=1""#, "\"'\t=1\""),
            (r#""\n=1""#, "\"'\n=1\""),
            (r#""\u0000a""#, "\"'\0a\""),
            (r#""\ufeff=1""#, "\"'\u{feff}=1\""),
            (r#""\uff1d1""#, "\"'\u{ff1d}1\""),
            (r#""\u00a0@a""#, "\"'\u{a0}@a\""),
            ("-1", "-1"),
            (r#""a,b""#, r#""a,b""#),
            (r#""a\r\nb""#, "\"a\r\nb\""),
            (r#""say \"it\"""#, r#""say ""it""""#),
            (r#"" a""#, r#"" a""#),
        ] {
            assert_eq!(cell("v", &format!("{{\"v\":{value}}}")), expected, "{value}");
        }
    }
}
