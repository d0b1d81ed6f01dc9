//! The version of the layout, and the migrations between versions.

mod stamps;

use intray_redis::Fault;
use redis::Value;

pub(crate) use self::stamps::Stamps;
use crate::store::{
    handle::Queues,
    redis::{move_marker::is_moved, read::broken},
};

/// The migrations in order; the first makes version 1. `migrations/README.md` has their rules.
const STEPS: [&str; 2] = ["0001_first_layout", "0002_stamps"];
const FIRST_LAYOUT: &str = include_str!("../../../migrations/0001_first_layout.lua");

/// Why the service cannot use the data in Redis.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("the layout in Redis has version {found}, newer than this program's {current}: run a newer intray")]
    Newer { found: usize, current: usize },
    #[error("the layout in Redis has version {found}, this program needs {current}: run `intray migrate`")]
    Older { found: usize, current: usize },
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Fault(#[from] Fault),
}

pub(crate) async fn expect_current(queues: &Queues) -> Result<(), LayoutError> {
    let (found, current) = (queues.layout_version().await?, STEPS.len());
    if found == 0 && queues.is_blank().await? {
        return Ok(());
    }
    match found.cmp(&current) {
        std::cmp::Ordering::Less => Err(LayoutError::Older { found, current }),
        // A running migration to a newer layout writes the version last, but removes the registry first.
        std::cmp::Ordering::Equal => match queues.parts.registry.find().await {
            Err(fault @ Fault::Unavailable { .. }) if is_moved(&fault) => Err(LayoutError::Refused(fault.why())),
            found => Ok(found?),
        },
        std::cmp::Ordering::Greater => Err(LayoutError::Newer { found, current }),
    }
}

impl Queues {
    /// Creates the layout in an empty Redis; rejects any other version.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub async fn settle_layout(&self) -> Result<(), LayoutError> {
        expect_current(self).await?;
        self.migrate(false).await?;
        self.learn_store_id().await?;
        self.parts.runner.link.try_library().await;
        Ok(())
    }

    /// Runs the missing migrations, and returns their names.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub async fn migrate(&self, dry_run: bool) -> Result<Vec<&'static str>, LayoutError> {
        if let Some(too_old) = self.version_problem().await? {
            return Err(LayoutError::Refused(too_old));
        }
        let found = self.layout_version().await?;
        if found > STEPS.len() {
            return Err(LayoutError::Newer { found, current: STEPS.len() });
        }
        let missing = &STEPS[found..];
        if !dry_run {
            self.create_store_id().await?;
            if found == 0 {
                // An empty Redis needs no migration: it gets the current layout at once.
                let version = if self.is_blank().await? { STEPS.len() } else { 1 };
                let mut command = redis::cmd("EVAL");
                command.arg(FIRST_LAYOUT).arg(1).arg(self.parts.runner.keys.layout()).arg(version);
                self.parts.runner.link.plain(&command).await?;
            }
            let mut stamps = Stamps::new(self, STEPS.len());
            while self.layout_version().await? < STEPS.len() && stamps.step().await? {}
        }
        Ok(missing.to_vec())
    }

    /// Whether Redis has no layout yet.
    async fn is_blank(&self) -> Result<bool, Fault> {
        let keys = &self.parts.runner.keys;
        for registry in [keys.registry(), keys.first_registry()] {
            let mut command = redis::cmd("EXISTS");
            command.arg(&registry);
            if self.parts.runner.link.checked(&registry, &command).await? != Value::Int(0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) async fn layout_version(&self) -> Result<usize, Fault> {
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
