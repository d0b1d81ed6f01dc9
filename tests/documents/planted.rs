//! The faults of `tests/planted/faults.toml`: a change must not leave one behind that can no longer be planted.

use super::tree::read;

/// The value of a field, whose text is written as JSON writes it.
fn value(line: &str, field: &str) -> Option<String> {
    let text = line.strip_prefix(field)?.strip_prefix(" = ")?;
    Some(serde_json::from_str(text).unwrap_or_else(|e| panic!("{line}: {e}")))
}

#[test]
fn each_planted_fault_has_its_text_once_in_its_file() {
    let (mut file, mut planted, mut stale) = (String::new(), 0, Vec::new());
    for line in read("tests/planted/faults.toml").lines() {
        if let Some(name) = value(line, "file") {
            file = name;
        } else if let Some(from) = value(line, "from") {
            planted += 1;
            let times = read(&file).matches(&from).count();
            if times != 1 {
                stale.push(format!("{file}, {times} times: {from}"));
            }
        }
    }
    assert!(planted >= 40, "{planted} faults");
    assert!(stale.is_empty(), "{stale:#?}");
}
