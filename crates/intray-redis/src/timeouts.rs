//! How long a caller waits for Redis: each limit follows from the time that Redis has to answer.

use std::time::Duration;

/// The limits of one handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    response: Duration,
}

/// A connection takes several round trips (TLS, login, test), which the answer of a fast Redis does not.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_millis(700);

impl Timeouts {
    /// From the milliseconds that Redis has to answer.
    pub fn of_response(ms: u32) -> Self {
        Self { response: Duration::from_millis(ms.into()) }
    }

    /// For a reply on an open connection.
    pub fn response(self) -> Duration {
        self.response
    }

    /// For a connection to be established.
    pub fn connect(self) -> Duration {
        MIN_CONNECT_TIMEOUT.max(self.response / 2)
    }

    /// For both: every call returns within this time, whatever Redis does.
    pub fn answer(self) -> Duration {
        self.connect() + self.response
    }

    /// For this long a fault explains why later calls wait: until the next one can be known.
    pub fn recent_fault(self) -> Duration {
        self.answer() + self.connect()
    }

    /// For what has to end before the time for a reply is over, such as what Redis itself waits for.
    pub(crate) fn ahead_of_response(self) -> Duration {
        self.response - self.margin()
    }

    /// For the way of a reply after Redis has ended its own wait.
    pub(crate) fn margin(self) -> Duration {
        self.response / 11
    }

    /// For Redis's disk: `appendfsync everysec` takes about a second.
    pub(crate) fn sync(self) -> Duration {
        self.response + 2 * self.margin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_the_time_that_redis_has_to_answer() {
        let ms = |timeouts: Timeouts| {
            let Timeouts { response } = timeouts;
            let all = [response, timeouts.connect(), timeouts.answer(), timeouts.recent_fault()];
            all.map(|limit| limit.as_millis())
        };
        assert_eq!(ms(Timeouts::of_response(1_100)), [1_100, 700, 1_800, 2_500]);
        assert_eq!(ms(Timeouts::of_response(100)), [100, 700, 800, 1_500]);
        assert_eq!(ms(Timeouts::of_response(30_000)), [30_000, 15_000, 45_000, 60_000]);
    }

    /// WAIT and WAITAOF take a timeout of 0 as none.
    #[test]
    fn redis_gives_up_before_its_caller_and_never_waits_for_ever() {
        for of in [100, 1_100, 30_000].map(Timeouts::of_response) {
            assert!(of.ahead_of_response().as_millis() > 0 && of.ahead_of_response() < of.response());
            assert!(of.sync() > of.response() && of.sync() + of.margin() <= of.answer(), "{of:?}");
        }
    }
}
