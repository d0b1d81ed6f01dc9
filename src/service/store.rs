//! Checks the store before the service works with it, and waits for one that does not answer yet.

use std::{collections::HashSet, time::Duration};

use anyhow::bail;
use tokio_util::sync::CancellationToken;

use super::clock::clock;
use crate::store::{Check, Fault, Queues};

/// How often a Redis that is away is tried.
const TRY_EVERY: Duration = Duration::from_millis(250);
/// How often the settings of Redis and the clocks are looked at while the service runs.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A check that fails although Redis answers is repeated: Redis may have gone away meanwhile and come back.
const CHECKS: u32 = 2;

/// The names of the checks that fail and of which the log says so.
pub type Logged = HashSet<&'static str>;

/// Checks the store, unless it is away.
///
/// # Errors
/// One line for the operator, if it is unfit or refuses this service.
pub async fn try_store(queues: &Queues) -> anyhow::Result<Result<Logged, Fault>> {
    let mut outcome = Ok(Logged::new());
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
pub async fn wait_for_store(queues: &Queues) -> anyhow::Result<Logged> {
    loop {
        if let Ok(logged) = try_store(queues).await? {
            return Ok(logged);
        }
        // As a failed script does, so that the alert about a Redis that is away fires.
        intray_metrics::SCRIPT_FAULTS_TOTAL.of(&["start"]).inc();
        tokio::time::sleep(TRY_EVERY).await;
    }
}

/// Refuses a Redis that would lose jobs, and warns of one that might.
///
/// # Errors
/// One line for the operator.
pub async fn check_store(queues: &Queues) -> anyhow::Result<Logged> {
    let mut logged = Logged::new();
    // Checked before the first script: an old Redis would fail, and one with too few rights would run it halfway.
    for Check { name, problem, is_warning } in queues.allowed().await.into_iter().chain(queues.fit().await) {
        match problem {
            // The private server's supervisor has logged this.
            Some(_) if name == "room" => {}
            Some(problem) if is_warning || matches!(name, "role" | "disk") => {
                logged.insert(name);
                tracing::warn!("{problem}");
            }
            Some(problem) => bail!(problem),
            None => {}
        }
    }
    let durable = queues.durable().await;
    // Before the first write too. What a restart would lose is only warned of: a repaired version of Redis loses nothing.
    for Check { name, problem, is_warning } in &durable {
        if let (Some(problem), false) = (problem, *is_warning || *name == "restart") {
            bail!(problem.clone());
        }
    }
    queues.settle_layout().await?;
    for Check { name, problem, .. } in durable.into_iter().chain(clock(queues).await) {
        if let Some(problem) = problem {
            logged.insert(name);
            tracing::warn!("{problem}");
        }
    }
    Ok(logged)
}

/// Logs what the start would refuse or warn of and has not logged, when it comes to be and when it is over, until it is stopped.
pub async fn watch_store(queues: Queues, mut logged: Logged, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
        for Check { name, problem, is_warning } in queues.standing().await.into_iter().chain(clock(&queues).await) {
            match problem {
                Some(problem) if logged.insert(name) => {
                    intray_metrics::REDIS_UNFIT.of(&[name]).set(1.0);
                    match is_warning {
                        true => tracing::warn!(check = name, "{problem}"),
                        false => tracing::error!(check = name, "{problem}"),
                    }
                }
                None if logged.remove(name) => {
                    intray_metrics::REDIS_UNFIT.of(&[name]).set(0.0);
                    tracing::info!(check = name, "this check of Redis passes again");
                }
                Some(_) | None => {}
            }
        }
    }
}
