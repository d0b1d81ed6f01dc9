//! A stored figure: its value, its tolerance and its parts.

use std::{collections::BTreeMap, fmt};

/// The share of a figure by part.
pub type Parts = BTreeMap<String, f64>;

/// The measured value.
pub struct Figure {
    pub name: String,
    pub value: f64,
    pub parts: Parts,
}

/// `name: value ± tolerance = part value, part value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub name: String,
    pub value: f64,
    tolerance: Tolerance,
    parts: Parts,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Tolerance {
    PerCent(f64),
    Units(f64),
}

/// For a new figure.
const USUAL: Tolerance = Tolerance::PerCent(3.0);

impl Line {
    /// `None` for a line of text.
    pub fn read(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once(": ")?;
        let (value, rest) = rest.split_once(" ± ")?;
        let (tolerance, parts) = rest.split_once(" = ").unwrap_or((rest, ""));
        let tolerance = match tolerance.strip_suffix(" %") {
            Some(share) => Tolerance::PerCent(share.parse().ok()?),
            None => Tolerance::Units(tolerance.parse().ok()?),
        };
        let part =
            |part: &str| part.rsplit_once(' ').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        let parts = parts.split(", ").filter_map(part).collect();
        Some(Self { name: name.to_owned(), value: value.parse().ok()?, tolerance, parts })
    }

    /// The line with the measured value.
    pub fn of(figure: &Figure, kept: Option<&Self>) -> Self {
        let tolerance = kept.map_or(USUAL, |kept| kept.tolerance);
        Self { name: figure.name.clone(), value: figure.value, tolerance, parts: figure.parts.clone() }
    }

    /// The deviation of a figure, if it exceeds the tolerance.
    pub fn complaint(&self, figure: &Figure) -> Option<String> {
        let room = match self.tolerance {
            Tolerance::PerCent(share) => self.value * share / 100.0,
            Tolerance::Units(units) => units,
        };
        let (name, found, kept) = (&self.name, short(figure.value), short(self.value));
        if (figure.value - self.value).abs() <= room + f64::EPSILON {
            return None;
        }
        if figure.value < self.value {
            return Some(format!(
                "{name}: {found} is less than {kept} ± {}: lower the line to {found}",
                self.tolerance
            ));
        }
        let grown = grown(&self.parts, &figure.parts).into_iter();
        let whose: Vec<_> = grown.map(|(part, was, is)| format!("{part} {} (was {})", short(is), short(was))).collect();
        let whose = if whose.is_empty() { String::new() } else { format!("; what grew: {}", whose.join(", ")) };
        Some(format!("{name}: {found} is more than {kept} ± {}{whose}", self.tolerance))
    }

    /// The parts that grew, largest first.
    pub fn grown<'f>(&self, figure: &'f Figure) -> impl Iterator<Item = &'f str> {
        grown(&self.parts, &figure.parts).into_iter().map(|(part, ..)| part)
    }
}

/// What grew, largest first: its name, the old and the new value.
pub fn grown<'p>(before: &Parts, now: &'p Parts) -> Vec<(&'p str, f64, f64)> {
    let mut grown: Vec<_> =
        now.iter().map(|(name, is)| (name.as_str(), before.get(name).copied().unwrap_or(0.0), *is)).collect();
    grown.retain(|(_, was, is)| is > was);
    grown.sort_by(|a, b| (b.2 - b.1).total_cmp(&(a.2 - a.1)));
    grown
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerCent(share) => write!(f, "{share} %"),
            Self::Units(units) => write!(f, "{units}"),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ± {}", self.name, short(self.value), self.tolerance)?;
        let parts: Vec<_> = self.parts.iter().map(|(name, value)| format!("{name} {}", short(*value))).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, " = {}", parts.join(", ")) }
    }
}

/// With significant digits only.
pub fn short(value: f64) -> String {
    match value.abs() {
        1e4.. => format!("{:.0}", (value / 100.0).round() * 100.0),
        100.0.. => format!("{value:.0}"),
        _ => format!("{}", (value * 100.0).round() / 100.0),
    }
}
