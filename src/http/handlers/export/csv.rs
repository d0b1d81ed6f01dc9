//! Jobs as CSV (RFC 4180) in which no cell is a formula.

use std::borrow::Cow;

use bytes::Bytes;

use crate::{
    http::{
        request::query::Query,
        response::{field_error::Rule, formula, shapes},
    },
    job::limits,
    payload::{
        pointers::{self, Pointers},
        unicode_text,
    },
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
pub struct Columns {
    names: Vec<String>,
    pointers: Pointers,
}

impl Columns {
    pub fn read(query: &mut Query) -> Self {
        let mut names = query.list("columns", limits::COLUMNS);
        if names.is_empty() {
            names.extend(DEFAULT_COLUMNS.map(str::to_owned));
        }
        let mut pointers = Pointers::default();
        for name in &names {
            match steps(name) {
                Ok(steps) => pointers.add(steps),
                Err(rule) => query.reject("columns", rule),
            }
        }
        if pointers.overlap() > limits::COLUMNS_OVERLAP {
            let rule = "must not show the same part of a job more than 4 times, each column with all that is in it";
            query.reject("columns", rule);
        }
        Self { names, pointers }
    }

    /// The header row.
    pub fn head(&self) -> Bytes {
        let mut text = Vec::new();
        write(self.names.iter().map(|name| quote_formula(name.as_str().into())), &mut text);
        text.into()
    }

    /// Writes a row. Returns how many bytes of JSON were read for it.
    ///
    /// # Errors
    /// An error, when a job cannot be serialized.
    pub fn row(&self, job: &shapes::JobBody<'_>, text: &mut Vec<u8>) -> serde_json::Result<usize> {
        let job = serde_json::to_string(job)?;
        write(self.cells(&job), text);
        Ok(job.len())
    }

    fn cells<'j>(&self, job: &'j str) -> impl Iterator<Item = Cow<'j, str>> {
        self.pointers.find(job).into_iter().map(|found| cell(found.unwrap_or_default()))
    }
}

/// The unescaped steps of a pointer.
fn steps(name: &str) -> Result<Vec<String>, Rule> {
    let steps = pointers::steps(name.strip_prefix('/').unwrap_or(name)).filter(|_| !name.is_empty());
    let steps = steps.ok_or("must be JSON pointers, like id or /payload/photo")?;
    if steps.len() > limits::COLUMN_STEPS {
        return Err(format!("must be JSON pointers of at most {} steps", limits::COLUMN_STEPS).into());
    }
    Ok(steps)
}

/// Text without quotes, objects and arrays as JSON, and nothing for `null`.
fn cell(json: &str) -> Cow<'_, str> {
    match json.as_bytes().first() {
        Some(b'"') => unicode_text(json).map_or_else(|| formula::tamed_json(json), quote_formula),
        _ if json == "null" => "".into(),
        _ => formula::tamed_json(json),
    }
}

/// Quotes text that a spreadsheet would run as a formula.
pub fn quote_formula(cell: Cow<'_, str>) -> Cow<'_, str> {
    formula::tamed(cell)
}

/// By hand: the crate `csv` quotes what RFC 4180 requires, or every cell. This also quotes `'` and blanks at the ends of a cell,
/// which readers may strip.
pub fn write<'c>(cells: impl Iterator<Item = Cow<'c, str>>, text: &mut Vec<u8>) {
    for (n, cell) in cells.enumerate() {
        if n > 0 {
            text.push(b',');
        }
        let is_special = |byte| matches!(byte, b',' | b'"' | b'\r' | b'\n' | b'\'');
        if cell.trim() == cell && !cell.bytes().any(is_special) {
            text.extend(cell.as_bytes());
            continue;
        }
        for (n, part) in cell.split('"').enumerate() {
            text.extend(if n > 0 { &b"\"\""[..] } else { b"\"" });
            text.extend(part.as_bytes());
        }
        text.push(b'"');
    }
    text.extend(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(column: &str, job: &str) -> String {
        let mut pointers = Pointers::default();
        pointers.add(steps(column).expect("a pointer"));
        let mut text = Vec::new();
        write(Columns { names: vec![column.to_owned()], pointers }.cells(job), &mut text);
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
        assert!(["", "/a~2", "a~"].iter().all(|column| steps(column).is_err()));
    }

    /// A value as JSON, and its cell as it stands in a row. The console is held to them too.
    #[derive(serde::Deserialize)]
    struct Case {
        json: String,
        cell: String,
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        let cases = include_str!("../../../../tests/csv_cells.json");
        for case in serde_json::from_str::<Vec<Case>>(cases).expect("cases") {
            assert_eq!(cell("v", &format!("{{\"v\":{}}}", case.json)), case.cell, "{}", case.json);
        }
    }
}
