//! What a cycle may cost: so much and 5 % more, or the command fails.

const KEPT: &str = include_str!("ceilings.txt");
const MARGIN: f64 = 1.05;

/// The figures that were too high.
#[derive(Default)]
pub struct Ceilings {
    broken: Vec<String>,
}

impl Ceilings {
    /// What is kept for a figure, as the table shows it.
    pub fn hold(&mut self, name: &str, figure: f64) -> &'static str {
        let kept = KEPT.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        if let Some(ceiling) = kept.and_then(|kept| kept.parse::<f64>().ok())
            && figure > ceiling * MARGIN
        {
            self.broken.push(format!("{name}: {figure:.0} is more than 5 % above {ceiling}"));
        }
        kept.unwrap_or_default()
    }

    /// # Panics
    /// When a figure was too high.
    pub fn check(self) {
        assert!(self.broken.is_empty(), "{}", self.broken.join("; "));
    }
}
