//! The table of `tests/tables.json`, which a test of the console reads too.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{TableImport, options};
use crate::bulk::import::table::form;

#[derive(Deserialize)]
struct CaseTable {
    cases: Vec<TableCase>,
}

#[derive(Deserialize)]
struct TableCase {
    name: String,
    text: Option<String>,
    /// A character a byte.
    bytes: Option<String>,
    separator: Option<String>,
    #[serde(default)]
    maps: Vec<String>,
    overlap: Option<u32>,
    refused: Option<String>,
    /// The separator that is found.
    found: Option<char>,
    #[serde(default)]
    jobs: Vec<(u64, Value)>,
    #[serde(default)]
    faults: Vec<(u64, String, String)>,
}

impl TableCase {
    fn bytes(&self) -> Vec<u8> {
        let bytes = self.bytes.iter().flat_map(|text| text.chars()).map(|byte| byte as u8);
        self.text.iter().flat_map(|text| text.bytes()).chain(bytes).collect()
    }

    fn flags(&self) -> Vec<String> {
        let maps = self.maps.iter().flat_map(|map| ["--map".to_owned(), map.clone()]);
        let separator = self.separator.iter().map(|separator| format!("--separator={separator}"));
        maps.chain(separator).chain(self.overlap.map(|overlap| format!("--overlap={overlap}"))).collect()
    }

    /// The jobs and the refused rows.
    fn read(&self) -> Result<ReadRows, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), self.bytes()).expect("written");
        let flags = self.flags();
        let options = options(file.path(), &flags.iter().map(String::as_str).collect::<Vec<_>>());
        let mut table = TableImport::open(&options).map_err(|error| format!("{error:#}"))?;
        let (mut jobs, mut faults) = ReadRows::default();
        while let Some(row) = table.row().expect("it is read") {
            match table.columns.job(&row) {
                Ok(Some(job)) => {
                    let text = self.overlap.map_or_else(|| job.line(None), |overlap| job.batch(None, overlap));
                    jobs.push((row.number, serde_json::from_str(&text).expect("JSON")));
                }
                Ok(None) => {}
                Err(error) => faults.push((row.number, error.column.unwrap_or_default(), error.detail)),
            }
        }
        Ok((jobs, faults))
    }
}

type ReadRows = (Vec<(u64, Value)>, Vec<(u64, String, String)>);

#[test]
fn command_line_reads_each_table_as_the_page_does() {
    let table: CaseTable =
        serde_json::from_str(include_str!("../../../../../../../tests/tables.json")).expect("a table");
    assert!(table.cases.len() > 60, "{} cases", table.cases.len());
    for case in &table.cases {
        let name = &case.name;
        if let Some(words) = &case.refused {
            let error = case.read().expect_err(name);
            assert!(error.contains(words), "{name}: {error}");
        } else if let Some(found) = case.found {
            let separator = form::separator(&case.bytes()).expect(name);
            assert_eq!(char::from(separator.0), found, "{name}");
        } else {
            let (jobs, faults) = case.read().expect(name);
            assert_eq!(json!(jobs), json!(case.jobs), "{name}");
            assert_eq!(faults, case.faults, "{name}");
        }
    }
}
