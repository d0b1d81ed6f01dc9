//! Calls that last: their credential is checked again while they run.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    access::Pass,
    http::{middleware::auth, response::problem::Problem},
};

/// How often the credential of a call that lasts is checked again.
const RECHECK_CREDENTIAL_EVERY: Duration = Duration::from_secs(1);

pub struct LongCall {
    pass: Pass,
    doubt: Interval,
    leaving: CancellationToken,
}

impl LongCall {
    pub fn new(pass: Pass, leaving: CancellationToken) -> Self {
        let mut recheck = interval(RECHECK_CREDENTIAL_EVERY);
        recheck.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { pass, doubt: recheck, leaving }
    }

    /// Waits until the call must end, because its credential is no longer valid or the service shuts down.
    pub async fn ended(&mut self) -> Problem {
        loop {
            tokio::select! {
                () = self.leaving.cancelled() => return Problem::shutting_down(),
                _ = self.doubt.tick() => if let Err(problem) = auth::revalidate(&self.pass) {
                    return problem;
                },
            }
        }
    }

    /// Waits until the caller's rate limit allows one more part of the call.
    pub fn rate_permit(&self) -> impl Future<Output = ()> + Send + use<> {
        let pass = self.pass.clone();
        async move {
            while let Err(pause) = pass.take_rate_permit() {
                sleep(pause).await;
            }
        }
    }
}
