//! The messages of the stream of events, which `openapi.yaml` describes beside the stream.

use serde_json::{Value, json};

use super::Contract;
use crate::world::json::lenient;

impl Contract {
    /// # Panics
    /// When the data of a message is not what the contract says.
    pub fn check_message(&self, kind: &str, data: &Value) {
        match kind {
            "heartbeat" => assert_eq!(data, &json!({}), "the data of a heartbeat"),
            "gap" | "unavailable" => self.check_schema("a gap", "/components/schemas/EventGap", data),
            kind => {
                self.check_schema(kind, "/components/schemas/Event", data);
                assert_eq!(data["type"], kind, "{data}");
            }
        }
    }

    /// # Panics
    /// When a line of a stream of them is not what the contract says.
    pub fn check_lines(&self, text: &str) {
        for line in text.lines().filter(|line| !line.is_empty()) {
            let mut line = lenient(line).unwrap_or_else(|| panic!("not JSON: {line}"));
            let schema = match () {
                () if line.get("payload").is_some() => {
                    let next = line.as_object_mut().expect("an object").remove("next").expect("a next");
                    assert!(next.is_null() || next.is_string(), "{next}");
                    "Job"
                }
                () if line.get("next").is_some() => "CutLine",
                () if line.get("forgotten").is_some() => "Gap",
                () if line.get("lines").is_some() => "LastLine",
                () if line.get("line").is_some() && line.get("error").is_some() => "RefusedLine",
                () => "DoneLine",
            };
            self.check_schema("a line", &format!("/components/schemas/{schema}"), &line);
        }
    }

    /// Every type of event that is documented.
    pub fn event_types(&self) -> Vec<String> {
        let words = self.document.pointer("/components/schemas/EventType/enum").and_then(Value::as_array);
        words.expect("types").iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
    }
}
