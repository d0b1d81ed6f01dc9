//! Rows of figures: raw in JSON, formatted on a page.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::numbers::shown;

#[derive(Clone, Serialize, Deserialize)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&column| column.to_owned()).collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, name: impl Into<Value>, figures: impl IntoIterator<Item = f64>) {
        // A missing measurement is NaN, which is null in JSON.
        let figures = figures.into_iter().map(Value::from);
        self.rows.push(std::iter::once(name.into()).chain(figures).collect());
        assert_eq!(self.rows.last().map(Vec::len), Some(self.head.len()), "a figure for each column");
    }

    pub fn figure(&self, row: usize, column: &str) -> f64 {
        let at = self.head.iter().position(|name| name == column);
        at.and_then(|at| self.rows.get(row)?.get(at)?.as_f64()).unwrap_or(f64::NAN)
    }

    /// The figures of a column, where it has any.
    pub fn column(&self, name: &str) -> Vec<f64> {
        let at = self.head.iter().position(|column| column == name);
        self.rows.iter().filter_map(|row| row.get(at?)?.as_f64()).collect()
    }

    /// As aligned Markdown.
    pub fn page(&self) -> String {
        let mut lines = vec![self.head.clone()];
        lines.extend(self.rows.iter().map(|row| row.iter().map(cell).collect()));
        let width = |at: usize| lines.iter().map(|line: &Vec<String>| line[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..self.head.len()).map(width).collect();
        let mut lines: Vec<_> = lines.iter().map(|line| aligned(line, &widths)).collect();
        let rule = widths.iter().enumerate().map(|(at, width)| match at {
            0 => format!("{}|", "-".repeat(width + 2)),
            _ => format!("{}:|", "-".repeat(width + 1)),
        });
        lines.insert(1, format!("|{}", rule.collect::<String>()));
        lines.join("\n") + "\n"
    }
}

fn aligned(line: &[String], widths: &[usize]) -> String {
    let cells = line.iter().zip(widths).enumerate().map(|(at, (text, &width))| match at {
        0 => format!(" {text:<width$} |"),
        _ => format!(" {text:>width$} |"),
    });
    format!("|{}", cells.collect::<String>())
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.as_f64().map(shown).unwrap_or_default(),
    }
}
