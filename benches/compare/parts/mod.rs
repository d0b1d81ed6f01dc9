//! The parts of the benchmark. Each returns a table.

mod bulk;
mod closed;
mod connections;
mod growth;
mod open;
mod overdue;
mod start;
mod through;
mod waiters;
mod with;

use clap::ValueEnum;

use super::{size::Size, table::Table};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    Closed,
    Connections,
    Open,
    With,
    Bulk,
    Waiting,
    Kept,
    Clients,
    Locks,
    Queues,
    Overdue,
    Waiters,
    Through,
    Start,
}

/// The results of a part, and what could not be measured.
pub struct Found {
    pub table: Table,
    pub missing: Vec<String>,
}

impl Found {
    fn of(table: Table) -> Self {
        Self { table, missing: Vec::new() }
    }
}

/// The columns of a table's curve: the x axis and the y axis.
pub struct Curve {
    pub along: &'static str,
    pub up: &'static [&'static str],
}

const CYCLE: &[&str] = &["enqueue ratio", "reserve ratio", "complete ratio", "cycle ratio"];

impl Part {
    pub async fn run(self, size: Size) -> Found {
        match self {
            Self::Closed => closed::run(size).await,
            Self::Connections => connections::run(size).await,
            Self::Open => open::run(size).await,
            Self::With => with::run(size).await,
            Self::Bulk => bulk::run(size).await,
            Self::Waiting => growth::waiting(size).await,
            Self::Kept => growth::kept(size).await,
            Self::Clients => growth::clients(size).await,
            Self::Locks => growth::locks(size).await,
            Self::Queues => growth::queues(size).await,
            Self::Overdue => overdue::run(size).await,
            Self::Waiters => waiters::run(size).await,
            Self::Through => through::run(size).await,
            Self::Start => start::run(size).await,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    pub fn curve(self) -> Option<Curve> {
        let (along, up) = match self {
            Self::Closed | Self::Connections | Self::Open | Self::With | Self::Bulk => return None,
            Self::Through | Self::Start => return None,
            Self::Waiting => ("jobs waiting", CYCLE),
            Self::Kept => ("jobs kept", CYCLE),
            Self::Clients => ("clients", CYCLE),
            Self::Locks => ("locks held", CYCLE),
            Self::Queues => ("queues", CYCLE),
            Self::Overdue => ("overdue at once", &["ratio"][..]),
            Self::Waiters => ("who wait", &["ratio"][..]),
        };
        Some(Curve { along, up })
    }
}
