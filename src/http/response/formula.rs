//! Text that a spreadsheet would run as a formula. The console writes tables too and uses the same rules as patterns.
//! `tests/csv_cells.json` holds both to them.

use std::{borrow::Cow, fmt::Write, ops::RangeInclusive};

/// Characters that start a formula, with the full-width and small forms that some programs treat alike.
const STARTS: [char; 12] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\u{fe66}', '\u{fe62}', '\u{fe63}', '\u{fe6b}',
];
/// Leading control characters may get lost (OWASP ASVS 1.2.10 names tab and NUL).
const CONTROLS: RangeInclusive<char> = '\0'..='\u{1f}';
/// Invisible characters that a program may skip before a formula: blanks of every width, direction marks, fillers.
const UNSEEN: [RangeInclusive<char>; 17] = [
    '\0'..=' ',
    '\u{7f}'..='\u{a0}',
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{1680}'..='\u{1680}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2000}'..='\u{200f}',
    '\u{2028}'..='\u{202f}',
    '\u{205f}'..='\u{206f}',
    '\u{3000}'..='\u{3000}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
];

/// What separates cells besides the comma, by a program's language or settings. After a line break such a program reads
/// another row, because it takes no quote for one that is inside a cell.
const SEPARATORS: [char; 5] = [';', '|', '\t', '\r', '\n'];

/// Text with an apostrophe before each formula that it would start, in whichever cells a program splits it into.
pub fn tamed(text: Cow<'_, str>) -> Cow<'_, str> {
    let (mut places, mut due) = (Vec::new(), vec![0]);
    for (at, char) in text.char_indices() {
        if STARTS.contains(&char) {
            places.append(&mut due);
        } else if !due.is_empty() && !is_skipped(char) {
            due.clear();
        }
        if SEPARATORS.contains(&char) {
            due.push(at + char.len_utf8());
        }
    }
    if text.starts_with(|char| CONTROLS.contains(&char)) && places.first() != Some(&0) {
        places.insert(0, 0);
    }
    if places.is_empty() {
        return text;
    }
    let mut tame = String::with_capacity(text.len() + places.len());
    let mut from = 0;
    for at in places {
        tame.extend([&text[from..at], "'"]);
        from = at;
    }
    tame.push_str(&text[from..]);
    tame.into()
}

/// JSON in which no formula starts after a separator. Its value is the same: what starts one is escaped, and blanks
/// stand for tabs and line breaks, which JSON has only between tokens.
pub fn tamed_json(json: &str) -> Cow<'_, str> {
    if !json.contains(SEPARATORS) {
        return json.into();
    }
    let mut tame = String::with_capacity(json.len());
    let mut is_due = false;
    for char in json.chars() {
        match char {
            '\t' | '\r' | '\n' => tame.push(' '),
            _ if is_due && STARTS.contains(&char) => {
                let _ = write!(tame, "\\u{:04x}", u32::from(char));
            }
            _ => tame.push(char),
        }
        is_due = matches!(char, ';' | '|') || is_due && is_unseen(char);
    }
    tame.into()
}

fn is_unseen(char: char) -> bool {
    UNSEEN.iter().any(|range| range.contains(&char))
}

/// A program takes a quote at the start of a cell for its own, and reads what follows.
fn is_skipped(char: char) -> bool {
    char == '"' || is_unseen(char)
}

/// The same rules as JavaScript regular expressions: what comes before a formula in its cell, a control character at
/// the start, and what starts a formula inside JSON.
pub fn patterns() -> [(&'static str, String); 3] {
    let class = |ranges: &mut dyn Iterator<Item = RangeInclusive<char>>| {
        ranges.fold(String::new(), |mut class, range| {
            let (first, last) = (u32::from(*range.start()), u32::from(*range.end()));
            let _ = write!(class, "\\u{first:04x}-\\u{last:04x}");
            class
        })
    };
    let controls = class(&mut [CONTROLS].into_iter());
    let unseen = class(&mut UNSEEN.into_iter());
    let starts = class(&mut STARTS.into_iter().map(|char| char..=char));
    [
        ("FORMULA", format!("/(?<![\"{unseen}])[\"{unseen}]*(?=[{starts}])/g")),
        ("CONTROL", format!("/^[{controls}]/")),
        // It looks back from what starts a formula only, or long blanks would take long.
        ("FORMULA_IN_JSON", format!("/[{starts}](?<=[;|][{unseen}]*[{starts}])/g")),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn formulas_are_detected_after_invisible_characters() {
        let unseen = [
            "",
            " ",
            "\n",
            "\r\n",
            "\t",
            "\0",
            "\u{7f}",
            "\u{85}",
            "\u{a0}",
            "\u{feff}",
            "\u{200b}",
            "\u{2060}",
            "\u{3000}",
            "\u{202e}",
            "\u{2003} \u{200d}",
        ];
        for before in unseen {
            for start in ["=", "+", "-", "@", "\u{ff1d}", "\u{ff0b}", "\u{ff0d}", "\u{ff20}"] {
                let text = format!("{before}{start}1");
                assert!(tamed((&text).into()).starts_with('\''), "{before:?} {start}");
            }
        }
        for control in ["\0", "\t", "\r", "\n", "\u{1b}"] {
            assert!(tamed(format!("{control}a").into()).starts_with('\''), "{control:?}");
        }
        for plain in ["", " ", " a", "a=1", "1-1", "\u{feff}a", "(1)", "\u{a0}", "'=1"] {
            assert_eq!(tamed(plain.into()), plain);
        }
    }

    #[test]
    fn formulas_are_tamed_after_other_separators() {
        for (text, tame) in [
            ("a;=1+1;b", "a;'=1+1;b"),
            ("a\t=1+1\tb", "a\t'=1+1\tb"),
            ("a|@x", "a|'@x"),
            ("a; \u{200b}-1;+2", "a;' \u{200b}-1;'+2"),
            ("=1;=2", "'=1;'=2"),
            ("\t=1", "'\t'=1"),
        ] {
            assert_eq!(tamed(text.into()), tame);
        }
        for plain in ["a;b", "a; b=1", "1|2", "a,=1"] {
            assert_eq!(tamed(plain.into()), plain);
        }
    }

    #[test]
    fn tamed_json_has_the_same_value() {
        let json = "{\"a;=\":\t[-1,\r\n\"b| \u{200b}\u{ff1d}c;-\",\"=;\\u003d\"]}";
        let tame = tamed_json(json);
        assert_eq!(tame, "{\"a;\\u003d\": [-1,  \"b| \u{200b}\\uff1dc;\\u002d\",\"=;\\u003d\"]}");
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
        assert_eq!(value(&tame), value(json));
    }

    #[test]
    fn long_runs_of_separators_cost_little() {
        let begin = Instant::now();
        let tabs = "\t".repeat(256 << 10);
        assert_eq!(tamed(format!("{tabs}a").into()).len(), tabs.len() + 2);
        assert_eq!(tamed(format!("{tabs}=").into()).len(), 2 * tabs.len() + 2);
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    }

    #[test]
    fn patterns_contain_every_range() {
        let [(_, formula), (_, control), (_, in_json)] = patterns();
        assert!(formula.starts_with("/(?<![\"\\u0000-\\u0020\\u007f-\\u00a0"), "{formula}");
        assert!(formula.contains("\\u003d-\\u003d") && formula.ends_with("\\ufe6b-\\ufe6b])/g"), "{formula}");
        assert_eq!(control, "/^[\\u0000-\\u001f]/");
        assert!(in_json.contains("](?<=[;|][\\u0000-") && in_json.ends_with("\\ufe6b-\\ufe6b])/g"), "{in_json}");
    }
}
