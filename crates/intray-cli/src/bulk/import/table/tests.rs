//! Files as people save them, and the jobs that their rows become.

mod cases;

use std::{fs, path::Path};

use clap::Parser;
use serde_json::{Value, json};

use super::*;

#[derive(Parser)]
struct ImportCommand {
    #[command(flatten)]
    options: ImportOptions,
}

fn options(file: &Path, flags: &[&str]) -> ImportOptions {
    let words = ["import", file.to_str().expect("UTF-8"), "--csv"].into_iter().chain(flags.iter().copied());
    ImportCommand::try_parse_from(words).expect("flags").options
}

/// The lines of a file with their row numbers, and the refused rows.
fn lines(text: impl AsRef<[u8]>, flags: &[&str]) -> Result<(Vec<(u64, Value)>, u64), String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), text).expect("written");
    let options = options(file.path(), flags);
    let mut table = TableImport::open(&options).map_err(|error| format!("{error:#}"))?;
    let mut jobs = Vec::new();
    while let Some((row, job)) = table.job().expect("it is read") {
        let text = options
            .table
            .overlap
            .map_or_else(|| job.line(options.queue.as_ref()), |overlap| job.batch(options.queue.as_ref(), overlap));
        jobs.push((row, serde_json::from_str(&text).expect("JSON")));
    }
    Ok((jobs, table.refused))
}

#[test]
fn sheet_of_excel_becomes_a_job_a_row() {
    let sheet = "\u{feff}Nr;Frage;\"Bild;groß\";\r\n007;\"Ist das\r\n\"\"gut\"\"?\";a.png;\r\n8;;b.png;\r\n;;;\r\n9;Und das?\r\n";
    let (jobs, refused) = lines(sheet, &["--queue", "fragen"]).expect("a table");
    let job = |payload: Value| json!({ "queue": "fragen", "payload": payload });
    let expected = [
        (2, job(json!({ "Nr": "007", "Frage": "Ist das\r\n\"gut\"?", "Bild;groß": "a.png" }))),
        (3, job(json!({ "Nr": "8", "Bild;groß": "b.png" }))),
        (5, job(json!({ "Nr": "9", "Frage": "Und das?" }))),
    ];
    assert_eq!((jobs.as_slice(), refused), (&expected[..], 0));
}

#[test]
fn mapped_columns_set_fields_and_leave_the_payload() {
    let text = "id,Prio,who,not,for,lang,wait,text\n7,10,ann | bob|,carol,acme,de,60000,hi\n8,,,,,,,\n";
    let mut flags = vec!["--map", "id=dedupe_key", "--map", "id=payload.number"];
    for map in ["Prio=priority", "who=assignees", "not=excluded", "for=client", "lang=skill", "wait=delay_ms"] {
        flags.extend(["--map", map]);
    }
    let (jobs, refused) = lines(text, &flags).expect("a table");
    let full = json!({
        "payload": { "number": "7", "text": "hi" }, "dedupe_key": "7", "priority": 10, "assignees": ["ann", "bob"],
        "excluded": ["carol"], "client": "acme", "skill": "de", "delay_ms": 60_000
    });
    let short = json!({ "payload": { "number": "8" }, "dedupe_key": "8" });
    assert_eq!((jobs, refused), (vec![(2, full), (3, short)], 0));
    let batch = ["--overlap", "3", "--map", "Prio=priority", "--map", "not=excluded", "--queue", "q"];
    let (jobs, _) = lines("Prio\tnot\ttext\n5\tann\thi\n", &batch).expect("a table");
    let job = json!({ "payload": { "text": "hi" }, "excluded": ["ann"] });
    assert_eq!(jobs, [(2, json!({ "queue": "q", "overlap": 3, "priority": 5, "job": job }))]);
}

#[test]
fn bad_rows_are_refused_one_by_one() {
    let text = "id,prio,\n1,high,\n2,5,\n3,-1,\n4,5,x\n5,5,,x\n6,,,\n";
    let (jobs, refused) = lines(text, &["--map", "prio=priority"]).expect("a table");
    let rows: Vec<_> = jobs.iter().map(|(row, _)| *row).collect();
    assert_eq!((rows, refused), (vec![3, 7], 4));
    // A file that breaks off: within quotes, or in the middle of a row.
    for (torn, rows) in [("a,b\n1,2\n3,\"4\n5,6\n", 1), ("a,b\n1,2\n3,4\n5", 2)] {
        let (jobs, refused) = lines(torn, &[]).expect("a table");
        assert_eq!((jobs.len(), refused), (rows, 1), "{torn:?}");
    }
    let huge = format!("a,b\n1,2\n3,{}\n5,6\n", "x".repeat(9 << 20));
    let (jobs, refused) = lines(huge, &[]).expect("a table");
    assert_eq!((jobs.len(), jobs[1].0, refused), (2, 4, 1));
}

#[test]
fn file_that_is_no_clear_table_is_refused_as_a_whole() {
    let none: &[&str] = &[];
    for (text, flags, words) in [
        (&b""[..], none, "is empty"),
        (b"\xef\xbb\xbf\r\n\n", &[], "is empty"),
        (b"a,b,a\n", &[], "two columns of the name a"),
        (b"a, a\n", &[], "two columns of the name a"),
        (b"a;b,c\n", &[], "--separator"),
        (b"a|b\n", &[], "--separator"),
        (b"\n;;\na;b\n", &[], "no name in its first row"),
        (b"a,b\n", &["--map", "c=priority"], "has no column c: its columns are a, b"),
        (b"a,b\n", &["--map", "a=payload.b"], "two columns for payload.b"),
        (b"a,b\n", &["--map", "a=skill", "--map", "b=skill"], "two columns for skill"),
        (b"a,b\n", &["--map", "a=dedupe_key", "--overlap", "2"], "--overlap"),
        (b"\"a,b\n1,2\n", &[], "not closed"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &[], "no text"),
    ] {
        let error = lines(text, flags).expect_err("no table");
        assert!(error.contains(words), "{text:?}: {error}");
    }
    // Far from the beginning, and with a character on the border of two pieces.
    let long = format!("a\n{}\n", "€".repeat(70_000));
    assert!(lines(&long, &[]).is_ok());
    let error = lines([long.as_bytes(), b"gr\xfc\xdfe\n"].concat(), &[]).expect_err("no UTF-8");
    assert!(error.contains("is not UTF-8"), "{error}");
    assert_eq!(lines("a,b\n", &[]), Ok((vec![], 0)), "a table of no rows");
}

#[test]
fn cell_of_blanks_is_absent() {
    let text = "a,who\n 1 , ann | | bob \n  ,\t\n2, \n3,|, \n   \n \n";
    let (jobs, refused) = lines(text, &["--map", "who=assignees"]).expect("a table");
    let job = |n: &str| json!({ "payload": { "a": n } });
    let first = json!({ "payload": { "a": " 1 " }, "assignees": ["ann", "bob"] });
    assert_eq!((jobs, refused), (vec![(2, first), (4, job("2")), (5, job("3"))], 0));
}

#[test]
fn first_line_for_excel_names_the_separator() {
    for (line, separator, flags) in [
        ("sep=|\r\n", '|', &[][..]),
        ("\u{feff}SEP=,\n", ',', &[]),
        ("\"sep=\t\"\r", '\t', &[]),
        ("sep=,\n", ';', &["--separator", ";"]),
    ] {
        let (jobs, refused) = lines(format!("{line}\"a;,\"{separator}b\n1{separator}2\n"), flags).expect("a table");
        assert_eq!((jobs, refused), (vec![(2, json!({ "payload": { "a;,": "1", "b": "2" } }))], 0), "{line:?}");
    }
    for line in ["sep=", "sep=\"", "sep=;;", "step=;"] {
        let (jobs, _) = lines(format!("{line}\n1\n"), &["--separator", ","]).expect("a table");
        assert_eq!(jobs, [(2, json!({ "payload": { line: "1" } }))]);
    }
}

#[test]
fn key_is_the_same_after_a_spreadsheet_saved_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = |text: &str, name: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).expect("written");
        TableImport::open(&options(&file, &[])).expect("a table").key.clone()
    };
    let key_of_header = key("a,b c\n1,2\n", "one");
    for same in ["\u{feff}a;b c\r\n", "\"a\"\t\"b c\"\n", "sep=,\na, b c,,\n", "\n\na,b c"] {
        assert_eq!(key(same, "one"), key_of_header, "{same:?}");
    }
    assert_ne!(key("a,b c\n1,2\n", "two"), key_of_header);
    for other in ["a,b\n", "a b c\n", "a,b,c\n"] {
        assert_ne!(key(other, "one"), key_of_header, "{other}");
    }
}

#[test]
fn names_of_columns_are_any_text() {
    let text = "__proto__,a.b,\"c\nd\",x=y,\"\"\"q\"\"\",type\n1,2,3,4,5,6\n";
    let (jobs, _) = lines(text, &["--map", "x=y=payload.m.n"]).expect("a table");
    let expected = r#"{"payload":{"__proto__":"1","a.b":"2","c\nd":"3","m.n":"4","\"q\"":"5","type":"6"}}"#;
    assert_eq!(jobs, [(2, serde_json::from_str(expected).expect("JSON"))]);
}

#[test]
fn rows_of_a_call_stand_in_their_lines() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), format!("a\n\n1\n\n\n2\n{}3\n", "\n".repeat(5_000))).expect("written");
    let options = options(file.path(), &[]);
    let mut table = TableImport::open(&options).expect("a table");
    let calls: Vec<_> = std::iter::from_fn(|| table.lines().expect("it is read")).collect();
    let text = |call: &RowLines| String::from_utf8(call.text.clone()).expect("text");
    assert_eq!((calls.len(), calls[0].first, calls[0].rows, calls[1].first), (2, 3, 2, 5_007));
    assert_eq!(text(&calls[0]), "{\"payload\":{\"a\":\"1\"}}\n\n\n{\"payload\":{\"a\":\"2\"}}");
    assert_eq!(text(&calls[1]), "{\"payload\":{\"a\":\"3\"}}");
}
