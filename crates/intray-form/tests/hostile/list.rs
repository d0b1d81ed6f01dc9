//! Forms and results by which a caller would make the service work longest, for the tests and the bench.

use intray_form::limits;

/// Writes a hostile text of about this many bytes.
pub type Writer = Box<dyn Fn(usize) -> String>;

/// A result, and the form that it is for.
pub struct HostileResult {
    pub name: &'static str,
    pub form: String,
    pub write: Writer,
}

pub struct HostileForm {
    pub name: &'static str,
    pub write: Writer,
}

/// A form with this one property.
fn of(property: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"a":{property}}}}}"#)
}

fn listed(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

/// `item` as often as it fits, with a comma after each but the last.
fn filled(before: &'static str, item: &'static str, after: &'static str) -> Writer {
    Box::new(move |size| format!("{before}{}{after}", listed((size / (item.len() + 1)).max(1), |_| item.to_owned())))
}

/// One text of `item` as often as it fits.
fn spread(before: &'static str, item: &'static str, after: &'static str) -> Writer {
    Box::new(move |size| format!("{before}{}{after}", item.repeat(size / item.len())))
}

/// Numbered items of one length, as many as fit.
fn numbered(before: &'static str, item: fn(usize) -> String, after: &'static str) -> Writer {
    Box::new(move |size| format!("{before}{}{after}", listed(size / (item(0).len() + 1), item)))
}

fn result(name: &'static str, form: String, write: Writer) -> HostileResult {
    HostileResult { name, form, write }
}

pub fn results() -> Vec<HostileResult> {
    let mut all = values();
    all.extend(structures());
    all
}

/// Results with one long value, or many that are hard to read.
fn values() -> Vec<HostileResult> {
    let text = of(r#"{"type":"string","minLength":1,"maxLength":1000000}"#);
    let number = of(r#"{"type":"number","multipleOf":0.01}"#);
    let format = |name: &str| of(&format!(r#"{{"type":"string","format":"{name}"}}"#));
    let label = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.";
    vec![
        result("escapes", text.clone(), spread(r#"{"a":""#, r"\ud83d\ude00", r#""}"#)),
        result("letters", text.clone(), spread(r#"{"a":""#, "é", r#""}"#)),
        result("blanks", text.clone(), spread(r#"{"a":"x""#, " ", "}")),
        result(
            "pattern",
            of(r#"{"type":"string","pattern":"(?:1[01]{6}|.\\S{9})\\bx"}"#),
            spread(r#"{"a":""#, "0110", r#""}"#),
        ),
        result("email of short labels", format("email"), spread(r#"{"a":"a@a"#, ".a", r#".-"}"#)),
        result("email of long labels", format("email"), spread(r#"{"a":"a@"#, label, r#"a"}"#)),
        result("email without an end", format("email"), spread(r#"{"a":""#, "a", r#"@-"}"#)),
        result("uri with a wrong end", format("uri"), spread(r#"{"a":"http://a/"#, "%20?", r#" "}"#)),
        result("uri that fits", format("uri"), spread(r#"{"a":"http://a/"#, "%20?", r#""}"#)),
        result("host that fits", format("uri"), spread(r#"{"a":"http://"#, "a.", r#"a:80"}"#)),
        result("port", format("uri"), spread(r#"{"a":"http://a:"#, "0", r#"1/"}"#)),
        result("address in brackets", format("uri"), spread(r#"{"a":"http://["#, "0:", r#"]/"}"#)),
        result("date", format("date"), spread(r#"{"a":"2026-01-01"#, "1", r#""}"#)),
        result("fraction of a second", format("date-time"), spread(r#"{"a":"2026-01-31T12:00:00."#, "1", r#"Z"}"#)),
        result("digits before the point", number.clone(), spread(r#"{"a":"#, "1", "}")),
        result("digits after the point", number.clone(), spread(r#"{"a":0."#, "1", "}")),
        result("digits of an exponent", number.clone(), spread(r#"{"a":1e"#, "0", "1}")),
        result("halves of a digit", number, filled(r#"{"b":["#, "1.00000000000000011102230246251565", "]}")),
        patterns(),
    ]
}

/// A pattern in as many texts as there may be, each time another one.
fn patterns() -> HostileResult {
    let text = |n| format!(r#""p{n}":{{"type":"string","pattern":"1[01]{{6}}x|q{n}"}}"#);
    let form = format!(r#"{{"type":"object","properties":{{{}}}}}"#, listed(limits::PATTERNS, text));
    result(
        "patterns",
        form,
        Box::new(|size| {
            let digits = "0110".repeat(size / limits::PATTERNS / 4);
            format!("{{{}}}", listed(limits::PATTERNS, |n| format!(r#""p{n}":"{digits}""#)))
        }),
    )
}

/// Results with many members or items.
fn structures() -> Vec<HostileResult> {
    let options = listed(255, |n| format!("\"o{n}\""));
    let list = of(&format!(r#"{{"type":"array","uniqueItems":true,"items":{{"enum":[{options}]}}}}"#));
    let any = of(&format!(r#"{{"type":"array","items":{{"enum":[{options}]}}}}"#));
    let closed = r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#;
    let text = of(r#"{"type":"string"}"#);
    let few =
        r#"{"aaaaa":0,"aaaab":0,"aaaac":0,"aaaad":0,"aaaae":0,"aaaaf":0,"aaaag":0,"aaaah":0,"aaaai":0,"aaaaj":0}"#;
    vec![
        result("items", list.clone(), filled(r#"{"a":["#, r#""o254""#, "]}")),
        result("items that fit", any.clone(), filled(r#"{"a":["#, r#""o254""#, "]}")),
        result("items that are wrong", any, filled(r#"{"a":["#, "0", "]}")),
        result("items with escapes", list, filled(r#"{"a":["#, r#""\u006f1""#, "]}")),
        result("names", closed.to_owned(), numbered("{", |n| format!(r#""{n:08}":1"#), "}")),
        result("names with escapes", closed.to_owned(), numbered("{", |n| format!(r#""\u0061~/{n:06}":1"#), "}")),
        result("one name", closed.to_owned(), filled("{", r#""b":1"#, "}")),
        result("one name in each object", text.clone(), filled(r#"{"b":["#, r#"{"b":1,"b":1}"#, "]}")),
        result("few names alike", text.clone(), filled(r#"{"b":["#, few, "]}")),
        result("empty objects", text.clone(), filled(r#"{"b":["#, "{}", "]}")),
        result(
            "nested",
            text,
            Box::new(|size| {
                let lists = format!("{}{}", "[".repeat(120), "]".repeat(120));
                format!(r#"{{"b":[{}]}}"#, listed(size / (lists.len() + 1), |_| lists.clone()))
            }),
        ),
    ]
}

pub fn forms() -> Vec<HostileForm> {
    let form = |name, write| HostileForm { name, write };
    let property = r#"{"type":"object","properties":{"a":{"#;
    vec![
        form(
            "nested",
            Box::new(|size| {
                let lists = format!("{}{}", "[".repeat(100), "]".repeat(100));
                of(&format!(r#"{{"type":"string","examples":[{}]}}"#, listed(size / 201, |_| lists.clone())))
            }),
        ),
        form("unknown keywords", numbered(property, |n| format!(r#""{n:08}":0"#), "}}}")),
        form("options", numbered(r#"{"type":"object","properties":{"a":{"enum":["#, |n| format!("\"{n:06}\""), "]}}}")),
        form(
            "options with titles",
            numbered(
                r#"{"type":"object","properties":{"a":{"oneOf":["#,
                |n| format!(r#"{{"const":"{n:06}","title":""}}"#),
                "]}}}",
            ),
        ),
        form(
            "items of a default",
            filled(
                r#"{"type":"object","properties":{"a":{"type":"array","items":{"enum":["o"]},"default":["#,
                r#""o""#,
                "]}}}",
            ),
        ),
        form("required", numbered(r#"{"type":"object","properties":{},"required":["#, |n| format!("\"{n:06}\""), "]}")),
        form(
            "definitions",
            numbered(
                r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/000000"}},"$defs":{"##,
                |n| format!(r#""{n:06}":{{"type":"string"}}"#),
                "}}",
            ),
        ),
        form(
            "nothing but null",
            Box::new(|size| {
                let ends = listed(60, |_| String::new()).replace(',', r#",{"type":"null"}]}"#);
                let one = format!(r#"{}{{"type":"string"}}{ends}"#, r#"{"anyOf":["#.repeat(59));
                let fields = listed(size / (one.len() + 10), |n| format!(r#""{n}":{one}"#));
                format!(r#"{{"type":"object","properties":{{{fields}}}}}"#)
            }),
        ),
    ]
}
