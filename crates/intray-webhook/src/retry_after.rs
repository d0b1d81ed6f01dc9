//! When a receiver wants the next attempt (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

use hyper::header::{HeaderMap, RETRY_AFTER};

/// A receiver may put the next attempt off by a day at most.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Seconds or an HTTP date, of the first such header. `None`: there is none, or it cannot be read.
pub fn read(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wait = if is_number {
        // A number of too many digits is a long time too.
        text.parse().map_or(LONGEST_RETRY_AFTER, Duration::from_secs)
    } else {
        httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()
    };
    Some(wait.min(LONGEST_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_counts_up_to_a_day_and_garbage_does_not() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let date = |seconds: u64| httpdate::fmt_http_date(now + Duration::from_secs(seconds));
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("31536000", Some(86_400)),
            ("99999999999999999999999999", Some(86_400)),
            (&date(90), Some(90)),
            (&date(31_536_000), Some(86_400)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("2099-01-01T00:00:00Z", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().expect("a value"))]);
            assert_eq!(read(&headers, now), seconds.map(Duration::from_secs), "{text}");
        }
        assert_eq!(read(&HeaderMap::new(), now), None);
    }
}
