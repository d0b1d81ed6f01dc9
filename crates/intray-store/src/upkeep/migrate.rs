//! The version of the layout, and the steps between versions.

mod migration;

use intray_redis::Fault;
use redis::Value;

pub use self::migration::Migration;
use crate::{
    handle::Queues,
    redis::{
        move_marker::{explain, is_closed},
        read::broken,
    },
};

/// A step to a layout from the one before. `migrations/README.md` has the rules.
pub struct LayoutStep {
    /// The layout that it makes.
    pub makes: u32,
    pub name: &'static str,
    /// The script that rewrites a queue's records, some at a time.
    pub rewrite: Option<&'static str>,
}

/// The steps in order. The first begins the layout in an empty Redis.
pub const STEPS: [LayoutStep; 1] = [LayoutStep { makes: 2, name: "0002_version", rewrite: None }];
const VERSION: &str = include_str!("../../../../migrations/0002_version.lua");

/// Why the service cannot use the data in Redis.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("the layout in Redis has version {found}, newer than this program's {current}: run a newer intray")]
    Newer { found: u32, current: u32 },
    #[error("the layout in Redis has version {found}, this program needs {current}: run `intray migrate`")]
    Older { found: u32, current: u32 },
    #[error(
        "the layout in Redis has version {found}, and this program migrates from {first} on: run `intray migrate` of an \
         older intray first, or use another --prefix"
    )]
    TooOld { found: u32, first: u32 },
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl LayoutStep {
    /// There is no layout before it.
    fn is_first(&self) -> bool {
        self.makes == STEPS[0].makes
    }
}

/// Returns the newest layout of the steps, if they lead there from the one that was found; 0 is none.
fn newest(steps: &[LayoutStep], found: u32) -> Result<u32, LayoutError> {
    let (first, current) = (steps[0].makes, steps[steps.len() - 1].makes);
    match found {
        _ if found > current => Err(LayoutError::Newer { found, current }),
        1.. if found < first => Err(LayoutError::TooOld { found, first }),
        _ => Ok(current),
    }
}

pub(crate) async fn expect_current(queues: &Queues) -> Result<(), LayoutError> {
    let found = queues.layout_version().await?;
    if found == 0 && queues.is_blank(&STEPS).await? {
        return Ok(());
    }
    let current = newest(&STEPS, found)?;
    if found < current {
        return Err(LayoutError::Older { found, current });
    }
    expect_open(queues, current).await
}

/// Refuses where `intray move` or a newer program's migration has moved the registry. A migration writes the version last.
async fn expect_open(queues: &Queues, layout: u32) -> Result<(), LayoutError> {
    let (link, registry) = (&queues.parts.runner.link, queues.parts.runner.keys.of_layout(layout).registry());
    let Err(fault) = link.checked(&registry, redis::cmd("ZCARD").arg(&registry)).await else { return Ok(()) };
    let fault = Box::pin(explain(link, fault, &registry)).await;
    Err(if is_closed(&fault) { LayoutError::Refused(fault.why()) } else { fault.into() })
}

async fn write_version(queues: &Queues, version: u32) -> Result<(), Fault> {
    let mut command = redis::cmd("EVAL");
    command.arg(VERSION).arg(1).arg(queues.parts.runner.keys.layout()).arg(version);
    queues.parts.runner.link.plain(&command).await.map(drop)
}

impl Queues {
    /// Runs the missing ones of the steps, which are [`STEPS`] or a test's, and returns their names.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub async fn migrate(&self, steps: &[LayoutStep], dry_run: bool) -> Result<Vec<&'static str>, LayoutError> {
        if let Some(too_old) = self.version_problem().await? {
            return Err(LayoutError::Refused(too_old));
        }
        let found = self.layout_version().await?;
        let current = newest(steps, found)?;
        expect_open(self, current).await?;
        let missing: Vec<_> = steps.iter().filter(|step| step.makes > found).collect();
        if !dry_run {
            self.create_store_id().await?;
            // An empty Redis gets the current layout at once.
            if found == 0 && self.is_blank(steps).await? {
                write_version(self, current).await?;
            } else {
                for step in &missing {
                    let mut migration = self.migration(step);
                    while migration.advance().await? {}
                }
            }
        }
        Ok(missing.iter().map(|step| step.name).collect())
    }

    /// Whether Redis has no queues of any layout.
    async fn is_blank(&self, steps: &[LayoutStep]) -> Result<bool, Fault> {
        for step in steps {
            let registry = self.parts.runner.keys.of_layout(step.makes).registry();
            let mut command = redis::cmd("EXISTS");
            command.arg(&registry);
            if self.parts.runner.link.checked(&registry, &command).await? != Value::Int(0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) async fn layout_version(&self) -> Result<u32, Fault> {
        let key = self.parts.runner.keys.layout();
        let mut command = redis::cmd("GET");
        command.arg(&key);
        match self.parts.runner.link.checked(&key, &command).await? {
            Value::Nil => Ok(0),
            Value::BulkString(bytes) => std::str::from_utf8(&bytes)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| broken("the version of the layout")),
            _ => Err(broken("the version of the layout")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::STEPS;
    use crate::keys::LAYOUT;

    #[test]
    fn steps_are_the_files_of_migrations() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "lua")).collect();
        files.sort();
        assert!(STEPS.iter().map(|step| step.name).eq(files.iter().filter_map(|path| path.file_stem()?.to_str())));
        for (step, makes) in STEPS.iter().zip(STEPS[0].makes..) {
            assert_eq!((step.makes, &step.name[..5]), (makes, format!("{makes:04}_").as_str()), "{}", step.name);
        }
        assert_eq!(STEPS.last().map(|step| step.makes.to_string()).as_deref(), Some(LAYOUT));
    }
}
