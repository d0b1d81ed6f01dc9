//! Text that a spreadsheet would run as a formula. The console writes tables too and uses the same rule as a pattern.

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

/// What separates cells besides the comma, by a program's language or settings.
const SEPARATORS: [char; 3] = [';', '\t', '|'];

/// The text with an apostrophe before each formula that it would start, in whichever cells a program splits it into.
pub fn tamed(text: Cow<'_, str>) -> Cow<'_, str> {
    let later = text.match_indices(SEPARATORS).map(|(at, _)| at + 1).filter(|&at| starts(&text[at..]));
    let first = starts(&text) || text.starts_with(|char| CONTROLS.contains(&char));
    let places: Vec<_> = first.then_some(0).into_iter().chain(later).collect();
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

fn starts(text: &str) -> bool {
    let is_unseen = |char: char| UNSEEN.iter().any(|range| range.contains(&char));
    text.trim_start_matches(is_unseen).starts_with(STARTS)
}

/// The places of the apostrophes as a JavaScript regular expression.
pub fn pattern() -> String {
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
    format!("/^(?=[{controls}])|(?<=^|[;\\t|])(?=[{unseen}]*[{starts}])/g")
}

#[cfg(test)]
mod tests {
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
    fn pattern_contains_every_range() {
        let pattern = pattern();
        assert!(
            pattern.starts_with("/^(?=[\\u0000-\\u001f])|(?<=^|[;\\t|])(?=[\\u0000-\\u0020\\u007f-\\u00a0"),
            "{pattern}"
        );
        assert!(pattern.contains("\\u003d-\\u003d") && pattern.ends_with("\\ufe6b-\\ufe6b])/g"), "{pattern}");
    }
}
