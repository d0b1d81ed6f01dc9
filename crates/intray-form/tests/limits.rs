//! What a form and a result can cost.

#[path = "hostile/time.rs"]
mod time;

use std::{hint::black_box, time::Duration};

use intray_form::{Form, FormFault, Owner, keywords, limits};
use time::{cpu_time, least};

fn form(text: &str) -> Form {
    Form::parse(text, Owner::Queue).unwrap_or_else(|error| panic!("{error:?}: {text}"))
}

fn refusals(text: &str) -> Vec<FormFault> {
    Form::parse(text, Owner::Queue).err().unwrap_or_else(|| panic!("taken: {text}")).0
}

/// A form with this one property.
fn of(property: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"a":{property}}}}}"#)
}

trait JoinIn {
    fn join_in(self, before: &str, after: &str) -> String;
}

impl JoinIn for String {
    fn join_in(self, before: &str, after: &str) -> String {
        format!("{before}{self}{after}")
    }
}

/// A form with this pattern in as many texts as there may be, each time another one.
fn patterned(pattern: &str) -> String {
    let text = |n: usize| {
        let pattern = serde_json::json!(format!("{pattern}|q{n}"));
        format!(r#""p{n}":{{"type":"string","pattern":{pattern}}}"#)
    };
    let texts: Vec<_> = (0..limits::PATTERNS).map(text).collect();
    texts.join(",").join_in(r#"{"type":"object","properties":{"#, "}}")
}

/// Four times the pattern may take twelve times as long; a square would take sixteen times, a cube sixty-four.
#[test]
fn hostile_patterns_are_read_in_linear_time() {
    let around = |before: &'static str, item: &'static str, after: &'static str| {
        move |size: usize| before.to_owned() + &item.repeat((size - before.len() - after.len()) / item.len()) + after
    };
    let patterns = [
        around("(?:", r"\s", "){0}"),
        around("(?:", r"\D", "){0}"),
        around("(?:", r"\b", "){0}"),
        around("(?:", r"\cA", "){0}"),
        around("[", r"a\]", "]"),
        around("(?<a[>", r"\s", "){0}"),
        around("", "(?:", ""),
        around("", "[", "]"),
    ];
    for pattern in patterns {
        let [small, large] = [150, 600].map(|size| {
            let form = of(&format!(r#"{{"type":"string","pattern":{}}}"#, serde_json::json!(pattern(size))));
            least(|| drop(black_box(Form::parse(black_box(&form), Owner::Queue))))
        });
        assert!(large < small * 12, "{}: {small:?}, then {large:?}", &pattern(150)[..20]);
    }
}

/// A form of hostile patterns takes no longer than it is large, and so does a search. The bounds are those of a debug build: what was not
/// bounded took seconds for one.
#[test]
fn hostile_patterns_cost_little_whether_taken_or_not() {
    let many = |before: &str, item: &str, after: &str| {
        before.to_owned() + &item.repeat((900 - before.len() - after.len()) / item.len()) + after
    };
    let patterns = [
        "1[01]{400}x".to_owned(),
        "1[01]{12}x".to_owned(),
        r"(?:[01]?){400}\b[xy]".to_owned(),
        r"(?:0?1?){300}[xy]|1[01]{30}[xy]".to_owned(),
        r"^\p{L}+$".to_owned(),
        r"\p{L}{50}".to_owned(),
        r"^[^<>]{1,500}$".to_owned(),
        "((a{100}){100}){100}".to_owned(),
        many("(?i)(?:", "[!-\u{1E943}]", "){0}"),
        many("(?:", "[!-\u{1E943}]", "){0}"),
        many("(?:", r"\p{Any}", "){0}"),
        many("", "()", "1[01]{9}x"),
        many("", "(?:a|b)?", ""),
        many("(?:", ".{0,9}", ")x"),
    ];
    let mut random = fastrand::Rng::with_seed(7);
    let text: String = (0..15_000).map(|_| if random.bool() { '1' } else { '0' }).collect();
    let result = (0..limits::PATTERNS).map(|n| format!(r#""p{n}":"{text}é""#)).collect::<Vec<_>>().join(",");
    let result = result.join_in("{", "}");
    for pattern in patterns {
        let form = patterned(&pattern);
        let start = cpu_time();
        let parsed = Form::parse(&form, Owner::Queue);
        let read = cpu_time().saturating_sub(start);
        let searched = parsed.ok().map(|form| least(|| drop(black_box(form.check(black_box(&result))))));
        assert!(read < Duration::from_secs(1), "{read:?}: {pattern}");
        assert!(searched.is_none_or(|took| took < Duration::from_millis(500)), "{searched:?}: {pattern}");
    }
}

#[test]
fn references_do_not_multiply_a_form() {
    let options = (0..255).map(|n| format!("\"o{n}\"")).collect::<Vec<_>>().join(",");
    let members = |count: usize, name: &str| {
        (0..count).map(|n| format!(r##""p{n}":{{"$ref":"#/$defs/{name}"}}"##)).collect::<Vec<_>>().join(",")
    };
    let written = |root: usize, group: usize| {
        let (root, group) = (members(root, "G"), members(group, "O"));
        format!(
            r#"{{"type":"object","properties":{{{root}}},"$defs":{{"G":{{"type":"object","properties":{{{group}}}}},"O":{{"enum":[{options}]}}}}}}"#
        )
    };
    let [few, many] = [written(1, 32), written(32, 32)];
    let [once, often] = [&few, &many].map(|text| least(|| drop(black_box(Form::parse(text, Owner::Queue)))));
    // A thousand choices, but the 255 options are kept once: 32 times the work without them, 32 * 8 with them.
    assert!(often < once * 32, "{once:?}, then {often:?}");
}

#[test]
fn limits_are_the_last_that_is_taken() {
    let padded = |size: usize| {
        let text = of(r#"{"type":"string"}"#);
        text.clone() + &" ".repeat(size - text.len())
    };
    form(&padded(limits::FORM));
    assert_eq!(refusals(&padded(limits::FORM + 1)).len(), 1);
    let properties = |count: usize| {
        (0..count)
            .map(|n| format!(r#""p{n}":{{"type":"string"}}"#))
            .collect::<Vec<_>>()
            .join(",")
            .join_in(r#"{"type":"object","properties":{"#, "}}")
    };
    form(&properties(limits::PROPERTIES));
    assert_eq!(refusals(&properties(limits::PROPERTIES + 1))[0].pointer, "/properties");
    let options = |count: usize| {
        let options = (0..count).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(",");
        of(&format!(r#"{{"enum":[{options}]}}"#))
    };
    form(&options(limits::OPTIONS));
    assert_eq!(refusals(&options(limits::OPTIONS + 1))[0].pointer, "/properties/a/enum");
    let patterns = |count: usize| {
        (0..count)
            .map(|n| format!(r#""p{n}":{{"type":"string","pattern":"{n}"}}"#))
            .collect::<Vec<_>>()
            .join(",")
            .join_in(r#"{"type":"object","properties":{"#, "}}")
    };
    form(&patterns(limits::PATTERNS));
    assert_eq!(refusals(&patterns(limits::PATTERNS + 1))[0].pointer, "/properties/p16/pattern");
    let referred = |count: usize| {
        let texts: Vec<_> = (0..count).map(|n| format!(r##""p{n}":{{"$ref":"#/$defs/T"}}"##)).collect();
        let after = r#"},"$defs":{"T":{"type":"string","pattern":"x"}}}"#;
        texts.join(",").join_in(r#"{"type":"object","properties":{"#, after)
    };
    form(&referred(limits::PATTERNS));
    assert_eq!(refusals(&referred(limits::PATTERNS + 1))[0].pointer, "/$defs/T/pattern");
    let long = |bytes: usize| of(&format!(r#"{{"type":"string","pattern":"^{}"}}"#, "x".repeat(bytes - 1)));
    form(&long(limits::PATTERN));
    assert_eq!(refusals(&long(limits::PATTERN + 1))[0].pointer, "/properties/a/pattern");
}

#[test]
fn answers_stay_short_with_hostile_names() {
    let names = (0..200).map(|n| format!(r#""{n}{}":1"#, "é~/".repeat(10))).collect::<Vec<_>>().join(",");
    let faults = refusals(&of(&format!(r#"{{"type":"string",{names}}}"#)));
    assert_eq!(faults.len(), limits::FAULTS);
    let numbers =
        r#"{"type":"number","minimum":1.7976931348623157e308,"maximum":5e-324,"multipleOf":1.7976931348623157e308}"#;
    let mut all = form(&of(numbers)).check(r#"{"a":1}"#);
    assert_eq!(all.len(), 3);
    all.extend(faults);
    all.extend(refusals(&of(&format!(r#"{{"type":"string","{}":1}}"#, "😀".repeat(100)))));
    for fault in all {
        assert!(fault.detail.chars().count() <= limits::DETAIL, "{fault:?}");
        assert!(fault.pointer.len() <= limits::POINTER, "{fault:?}");
    }
}

/// What a person typed may be secret, and the answer may be shown or logged elsewhere.
#[test]
fn no_detail_has_a_part_of_the_result() {
    let form = form(
        r#"{"type":"object","properties":{"t":{"type":"string","maxLength":2,"format":"email","pattern":"^x"},
        "n":{"type":"integer","maximum":1,"multipleOf":2},"b":{"type":"boolean"},"c":{"enum":["x"]},
        "l":{"type":"array","uniqueItems":true,"items":{"enum":["x"]}}},"additionalProperties":false}"#,
    );
    for value in [r#""73secret""#, "73731.5", r#"["73secret","73secret"]"#, r#"{"73secret":73731.5}"#] {
        let members: Vec<_> = ["t", "n", "b", "c", "l", "o"].map(|name| format!(r#""{name}":{value}"#)).into();
        let faults = form.check(&format!("{{{}}}", members.join(",")));
        assert!(faults.len() >= 6, "{faults:?}");
        let leaks: Vec<_> =
            faults.iter().filter(|fault| fault.detail.contains("73") || fault.detail.contains("secret")).collect();
        assert!(leaks.is_empty(), "{leaks:?}");
    }
}

/// Each keyword is refused by name in each kind of schema that the table does not list for it.
#[test]
fn keywords_are_refused_where_the_table_has_them_not() {
    use intray_form::SchemaKind::{Boolean, Choice, List, Number, Object, Text};
    let kinds = [
        (Text, r#""type":"string""#),
        (Number, r#""type":"number""#),
        (Boolean, r#""type":"boolean""#),
        (Choice, r#""enum":["x"]"#),
        (List, r#""type":"array","items":{"enum":["x"]}"#),
        (Object, r#""type":"object","properties":{}"#),
    ];
    // These decide what kind a schema is.
    let decisive = ["$ref", "allOf", "anyOf", "oneOf", "enum", "const"];
    let mut refused = 0;
    for keyword in keywords().iter().filter(|keyword| !decisive.contains(&keyword.name)) {
        for (place, members) in &kinds {
            if keyword.kinds.contains(place) || members.contains(&format!("\"{}\"", keyword.name)) {
                continue;
            }
            let faults = refusals(&of(&format!(r#"{{{members},"{}":true}}"#, keyword.name)));
            let [fault] = &faults[..] else { panic!("{place:?} {}: {faults:?}", keyword.name) };
            assert_eq!(fault.pointer, format!("/properties/a/{}", keyword.name));
            assert!(fault.detail.contains(&format!("`{}`", keyword.name)), "{fault:?}");
            refused += 1;
        }
    }
    assert!(refused > 60, "{refused}");
}
