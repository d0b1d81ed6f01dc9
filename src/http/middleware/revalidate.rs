//! A call that goes on for long: what let it in must hold all the time.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    access::Pass,
    http::{middleware::auth, response::problem::Problem},
};

/// How often a key or token is asked for again.
const DOUBT: Duration = Duration::from_secs(1);

pub struct Lasting {
    pass: Pass,
    doubt: Interval,
    leaving: CancellationToken,
}

impl Lasting {
    pub fn new(pass: Pass, leaving: CancellationToken) -> Self {
        let mut doubt = interval(DOUBT);
        doubt.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { pass, doubt, leaving }
    }

    /// Waits until it is over: the credential is none any more, or the service ends.
    pub async fn is_over(&mut self) -> Problem {
        loop {
            tokio::select! {
                () = self.leaving.cancelled() => return Problem::leaving(),
                _ = self.doubt.tick() => if let Err(problem) = auth::still(&self.pass, DOUBT) {
                    return problem;
                },
            }
        }
    }

    /// A part of it is as good as a call: waits until one more may be made.
    pub fn turn(&self) -> impl Future<Output = ()> + Send + use<> {
        let pass = self.pass.clone();
        async move {
            while let Err(pause) = pass.take_rate_permit() {
                sleep(pause).await;
            }
        }
    }
}
