//! What Redis counts of itself.

use std::collections::BTreeMap;

use super::Engine;

/// The number of calls of each command, as Redis names it in lower case.
pub type Calls = BTreeMap<String, u64>;

/// The sum of the calls of these commands.
pub fn calls_of(calls: &Calls, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| calls.get(*name)).sum()
}

impl Engine {
    /// Since the server started, or since the last `CONFIG RESETSTAT`.
    pub async fn calls(&self) -> Calls {
        let figures: String = self.run("INFO commandstats").await;
        let of_line = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        };
        figures.lines().filter_map(of_line).collect()
    }

    /// A number of one of the sections of `INFO`.
    pub async fn info_number(&self, section: &str, name: &str) -> u64 {
        let info: String = self.run(&format!("INFO {section}")).await;
        let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok());
        found.unwrap_or_else(|| panic!("{name}: {info}"))
    }

    /// Those that count of the cheapest of several runs: the service makes a few calls of its own at any time.
    pub async fn fewest_calls(&self, counts: impl Fn(&str) -> bool, run: impl AsyncFn(usize)) -> Calls {
        let mut runs = Vec::new();
        for nth in 0..6 {
            let before = self.calls().await;
            run(nth).await;
            let mut ran = self.calls().await;
            ran.iter_mut().for_each(|(name, calls)| *calls -= before.get(name).unwrap_or(&0));
            ran.retain(|name, calls| *calls > 0 && counts(name));
            runs.push(ran);
        }
        runs.into_iter().min_by_key(|ran| ran.values().sum::<u64>()).expect("several")
    }
}
