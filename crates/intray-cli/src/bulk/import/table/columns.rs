//! The columns of a table, and the job that a row becomes.

use intray_job::QueueName;

use super::rows::{RowFault, TableRow};
use crate::bulk::{
    import::source::MAX_LINE_BYTES,
    table_options::{ColumnTarget, TableOptions},
};

/// Maximum characters of a cell, and of all names, that an error quotes.
const QUOTED: usize = 40;
const QUOTED_NAMES: usize = 400;

struct Column {
    name: String,
    targets: Vec<ColumnTarget>,
}

pub struct TableColumns(Vec<Column>);

/// Why a row becomes no job.
#[derive(Debug, PartialEq, Eq)]
pub struct RowError {
    pub column: Option<String>,
    pub detail: String,
}

impl RowError {
    fn of_row(detail: impl Into<String>) -> Self {
        Self { column: None, detail: detail.into() }
    }
}

/// A job as JSON, in parts.
#[derive(Debug, Default)]
pub struct TableJob {
    /// The members of the payload.
    payload: Vec<String>,
    /// The other fields, each with its value.
    fields: Vec<(&'static str, String)>,
}

impl TableColumns {
    /// Reads the names from the first row.
    ///
    /// # Errors
    /// A sentence about the file, without its name.
    pub fn new(heading: &TableRow, options: &TableOptions) -> Result<Self, String> {
        if let Some(fault) = heading.fault {
            return Err(format!("has a wrong first row: it {}", explain(fault)));
        }
        let name = |cell: &[u8]| std::str::from_utf8(cell).map(|name| name.trim().to_owned());
        let names = heading.cells().map(name).collect::<Result<Vec<_>, _>>().map_err(|_| "is not UTF-8")?;
        if let Some(name) = repeated(names.iter().filter(|name| !name.is_empty())) {
            return Err(format!("has two columns of the name {name}: rename one"));
        }
        if names.iter().all(String::is_empty) {
            return Err("has no name in its first row, which must name the columns".to_owned());
        }
        if let Some(map) = options.mappings.iter().find(|map| !names.contains(&map.column)) {
            let quoted = start(&names.join(", "), QUOTED_NAMES);
            return Err(format!("has no column {}: its columns are {quoted}", map.column));
        }
        let columns = names.into_iter().map(|name| {
            let own = options.mappings.iter().filter(|map| map.column == name).map(|map| map.target.clone());
            let mut targets: Vec<_> = own.collect();
            if targets.is_empty() && !name.is_empty() {
                targets.push(ColumnTarget::Payload(name.clone()));
            }
            Column { name, targets }
        });
        let columns = Self(columns.collect());
        if let Some(target) = repeated(columns.targets().map(|(target, _)| target)) {
            return Err(format!("has two columns for {}: change --map", target.word()));
        }
        if options.overlap.is_some() && columns.targets().any(|(target, _)| *target == ColumnTarget::DedupeKey) {
            return Err(
                "cannot have a column for dedupe_key with --overlap: jobs of a batch are never duplicates".into()
            );
        }
        Ok(columns)
    }

    /// The names, a line each.
    pub fn names(&self) -> String {
        let names = self.0.iter().filter(|column| !column.name.is_empty());
        names.map(|column| format!("{}\n", column.name)).collect()
    }

    fn targets(&self) -> impl Iterator<Item = (&ColumnTarget, &str)> {
        self.0.iter().flat_map(|column| column.targets.iter().map(move |target| (target, column.name.as_str())))
    }

    /// Fields other than the payload, each with the column that sets it.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let fields = self.targets().filter(|(target, _)| !matches!(target, ColumnTarget::Payload(_)));
        fields.map(|(target, column)| (target.field(), column.to_owned())).collect()
    }

    /// Returns `None` for a row whose cells are all empty or blank.
    ///
    /// # Errors
    /// The row becomes no job.
    pub fn job(&self, row: &TableRow) -> Result<Option<TableJob>, RowError> {
        if let Some(fault) = row.fault {
            return Err(RowError::of_row(explain(fault)));
        }
        let (count, columns) = (row.cells().count(), self.0.len());
        // Excel leaves out empty cells at the end of a row, so a shorter one is in order, unless the file breaks off in it.
        if row.is_cut && count < columns {
            return Err(RowError::of_row(format!("the file ends in it, after {count} of {columns} columns")));
        }
        let mut job = None;
        for (index, cell) in row.cells().enumerate().filter(|(_, cell)| !cell.trim_ascii().is_empty()) {
            let Some(column) = self.0.get(index) else {
                return Err(RowError::of_row(format!("has {count} cells, but there are {columns} columns")));
            };
            let error = |detail: String| {
                let name = if column.name.is_empty() { (index + 1).to_string() } else { column.name.clone() };
                RowError { column: Some(name), detail }
            };
            if column.name.is_empty() {
                return Err(error("has no name in the first row".to_owned()));
            }
            let cell = std::str::from_utf8(cell).map_err(|_| error("is not UTF-8".to_owned()))?;
            let job = job.get_or_insert_with(TableJob::default);
            column.targets.iter().try_for_each(|target| job.set(target, cell)).map_err(error)?;
        }
        Ok(job)
    }
}

impl TableJob {
    fn set(&mut self, target: &ColumnTarget, cell: &str) -> Result<(), String> {
        let value = match target {
            ColumnTarget::Payload(member) => {
                self.payload.push(format!("{}:{}", json(member), json(cell)));
                return Ok(());
            }
            ColumnTarget::Priority | ColumnTarget::DelayMs => whole(cell.trim())?,
            ColumnTarget::DedupeKey => json(cell),
            ColumnTarget::Client | ColumnTarget::Skill => json(cell.trim()),
            ColumnTarget::Assignees | ColumnTarget::Excluded => {
                let names: Vec<_> = cell.split('|').map(str::trim).filter(|name| !name.is_empty()).map(json).collect();
                if names.is_empty() {
                    return Ok(());
                }
                format!("[{}]", names.join(","))
            }
        };
        self.fields.push((target.field(), value));
        Ok(())
    }

    /// The line that is sent for one job.
    pub fn line(&self, queue: Option<&QueueName>) -> String {
        let members = own_queue(queue).chain([self.payload()]).chain(self.fields.iter().map(member));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    /// The batch with as many equal jobs as people are asked.
    pub fn batch(&self, queue: Option<&QueueName>, overlap: u32) -> String {
        let (of_batch, of_job): (Vec<_>, Vec<_>) =
            self.fields.iter().partition(|(field, _)| matches!(*field, "priority" | "client"));
        let job: Vec<_> = [self.payload()].into_iter().chain(of_job.into_iter().map(member)).collect();
        let members =
            own_queue(queue).chain([format!("\"overlap\":{overlap}")]).chain(of_batch.into_iter().map(member));
        format!("{{{},\"job\":{{{}}}}}", members.collect::<Vec<_>>().join(","), job.join(","))
    }

    fn payload(&self) -> String {
        format!("\"payload\":{{{}}}", self.payload.join(","))
    }
}

fn member((field, value): &(&'static str, String)) -> String {
    format!("\"{field}\":{value}")
}

fn own_queue(queue: Option<&QueueName>) -> impl Iterator<Item = String> {
    queue.map(|queue| format!("\"queue\":\"{queue}\"")).into_iter()
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn whole(cell: &str) -> Result<String, String> {
    let number = cell.parse::<u64>().map_err(|_| format!("{} is no whole number", json(&start(cell, QUOTED))))?;
    Ok(number.to_string())
}

fn start(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

fn explain(fault: RowFault) -> String {
    match fault {
        RowFault::TooLong => {
            format!("is longer than {MAX_LINE_BYTES} bytes or has too many cells; is a quote not closed?")
        }
        RowFault::OpenQuote => "has a quote that is not closed, so the rest of the file is in it".to_owned(),
    }
}

fn repeated<T: PartialEq>(items: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = Vec::new();
    for item in items {
        if seen.contains(&item) {
            return Some(item);
        }
        seen.push(item);
    }
    None
}
