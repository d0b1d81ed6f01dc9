//! What a cycle may cost: so much and 5 % more, or the command fails.

/// Read when it runs: whoever lowers one need not build again.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/figures/cost/ceilings.txt");
const MARGIN: f64 = 1.05;

/// The figures that were too high.
pub struct Ceilings {
    kept: String,
    broken: Vec<String>,
}

impl Ceilings {
    pub fn read() -> Self {
        Self { kept: std::fs::read_to_string(KEPT).expect("the ceilings"), broken: Vec::new() }
    }

    /// What is kept for a figure, as the table shows it.
    pub fn hold(&mut self, name: &str, figure: f64) -> &str {
        let kept = self.kept.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        if let Some(ceiling) = kept.map(|kept| kept.parse::<f64>().expect("a number"))
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
