//! The main figures in the README, between two marks.

use super::{numbers::shown, parts::Part, record::Record, table::Table};

const FROM: &str = "<!-- from make bench -->\n";
const TO: &str = "<!-- end of what make bench wrote -->\n";

/// The row of a part's table, and its sentence. Names in brackets are columns.
const TELLING: [(Part, Row, &str); 6] = [
    (
        Part::Open,
        Row::Of(1),
        "At half of its maximum throughput, a reserve is answered after {reserve p50} ms (p99 {reserve p99} ms).",
    ),
    (
        Part::Waiting,
        Row::Last,
        "With {jobs waiting} jobs waiting a reserve costs Redis {reserve ratio} times what it costs with 1,000.",
    ),
    (Part::Waiting, Row::Last, "Each of {jobs waiting} waiting jobs takes {bytes each} bytes of Redis."),
    (
        Part::Through,
        Row::Last,
        "After {jobs through} jobs went through in bulk ({jobs/s} a second), Redis holds {bytes a job left} bytes per job.",
    ),
    (
        Part::Waiters,
        Row::Last,
        "Each of {who wait} waiting people takes {KiB each} KiB; together they cost {Redis commands/s} commands of Redis a second, \
         and a job reaches one of them after {to a waiter p50 ms} ms (p99 {p99 ms} ms).",
    ),
    (Part::Start, Row::Last, "With a private server it is ready after {ready ms} ms; idle it takes {idle MB} MB."),
];

#[derive(Clone, Copy)]
enum Row {
    Of(usize),
    Last,
}

/// The README with the new figures.
pub fn renewed(readme: &str, record: &Record) -> String {
    let (before, rest) = readme.split_once(FROM).expect("where the figures begin");
    let (_, after) = rest.split_once(TO).expect("where they end");
    format!("{before}{FROM}{}{TO}{after}", brief(record))
}

fn brief(record: &Record) -> String {
    let table = |part: Part| record.parts.get(&part.name()).map(|taken| &taken.table);
    let mut text = table(Part::Closed).map(beside).unwrap_or_default();
    for (part, row, sentence) in TELLING {
        if let Some(table) = table(part) {
            let row = match row {
                Row::Of(at) => at,
                Row::Last => table.rows.len().saturating_sub(1),
            };
            text += &format!("- {}\n", filled(sentence, table, row));
        }
    }
    text
}

fn beside(closed: &Table) -> String {
    const FIGURES: [&str; 3] = ["cycles/s", "intray : it", "p99 ms"];
    let mut rows = Table::new(&[closed.head[0].as_str(), FIGURES[0], FIGURES[1], FIGURES[2]]);
    for (at, row) in closed.rows.iter().enumerate() {
        rows.row(row[0].clone(), FIGURES.map(|name| closed.figure(at, name)));
    }
    format!("\n{}\n", rows.page())
}

fn filled(sentence: &str, table: &Table, row: usize) -> String {
    let figure = |text: String, name: &String| text.replace(&format!("{{{name}}}"), &shown(table.figure(row, name)));
    table.head.iter().fold(sentence.to_owned(), figure)
}
