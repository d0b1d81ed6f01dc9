//! Checks the store before the service works with it, and waits for one that does not answer yet.

use std::time::Duration;

use anyhow::bail;

use crate::store::{Check, Fault, Queues};

/// How often a Redis that is away is tried.
const TRY_EVERY: Duration = Duration::from_millis(250);
/// A check that fails although Redis answers is repeated: Redis may have gone away meanwhile and come back.
const CHECKS: u32 = 2;

/// Checks the store, unless it is away.
///
/// # Errors
/// One line for the operator, if it is unfit or refuses this service.
pub async fn try_store(queues: &Queues) -> anyhow::Result<Result<(), Fault>> {
    let mut outcome = Ok(());
    for _ in 0..CHECKS {
        if let Some(fault) = queues.away().await {
            return Ok(Err(fault));
        }
        outcome = check_store(queues).await;
        if outcome.is_ok() {
            break;
        }
    }
    match (outcome, queues.away().await) {
        (Err(_), Some(fault)) => Ok(Err(fault)),
        (outcome, _) => outcome.map(Ok),
    }
}

/// Waits until the store is there, and checks it.
///
/// # Errors
/// One line for the operator, if it is unfit or refuses this service.
pub async fn wait_for_store(queues: &Queues) -> anyhow::Result<()> {
    while try_store(queues).await?.is_err() {
        // As a failed script does, so that the alert about a Redis that is away fires.
        intray_metrics::SCRIPT_FAULTS_TOTAL.of(&["start"]).inc();
        tokio::time::sleep(TRY_EVERY).await;
    }
    Ok(())
}

/// Refuses a Redis that would lose jobs, and warns of one that might.
///
/// # Errors
/// One line for the operator.
pub async fn check_store(queues: &Queues) -> anyhow::Result<()> {
    // Checked before the first script: an old Redis would fail, and one with too few rights would run it halfway.
    for Check { name, problem, is_warning } in queues.allowed().await.into_iter().chain(queues.fit().await) {
        match problem {
            // The private server's supervisor has logged this.
            Some(_) if name == "room" => {}
            Some(problem) if is_warning || matches!(name, "role" | "disk") => tracing::warn!("{problem}"),
            Some(problem) => bail!(problem),
            None => {}
        }
    }
    let durable = queues.durable().await;
    // Before the first write too, because a restart would lose it.
    for Check { problem, is_warning, .. } in &durable {
        if let (Some(problem), false) = (problem, is_warning) {
            bail!(problem.clone());
        }
    }
    queues.settle_layout().await?;
    durable.into_iter().filter_map(|check| check.problem).for_each(|problem| tracing::warn!("{problem}"));
    Ok(())
}
