//! Splits a body into lines while it arrives, and keeps no more of it than is being worked on.

use std::time::Duration;

use axum::body::Body;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::{
    http::{
        middleware::body_budget::{BodyBudget, ReservedBytes},
        response::problem::{Problem, ProblemType},
    },
    text::{MARK, UTF16_RULE, is_utf16},
    waits::hurried,
};

pub const NDJSON: &str = "application/x-ndjson";
/// For the next chunk, however many there are.
const CHUNK_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 30_000 });
/// The largest part that is returned at a time.
const MAX_LINES_PER_READ: usize = 256;
const MAX_BYTES_PER_READ: usize = 256 << 10;
/// Bytes that cost as much as one more line.
const BYTES_PER_LINE_COST: u64 = 64 << 10;

#[derive(Debug, PartialEq, Eq)]
pub enum BodyLine {
    Text(Bytes),
    TooLong,
}

pub struct BodyLines {
    body: Body,
    reserved: ReservedBytes,
    /// Received bytes that are not returned yet, of which `searched` contain no line end.
    rest: BytesMut,
    searched: usize,
    /// The longest line, in bytes.
    max: usize,
    /// The number of the last line, blank ones included.
    pub read: u64,
    /// Bytes of all lines so far, skipped ones included.
    bytes: u64,
    /// The rest of a line over the limit is being skipped.
    is_skipping: bool,
    at_end: bool,
    deadline: Instant,
}

impl BodyLines {
    pub fn new(body: Body, budget: &BodyBudget, max: usize) -> Self {
        Self {
            body,
            reserved: budget.reserve(),
            rest: BytesMut::new(),
            searched: 0,
            max,
            read: 0,
            bytes: 0,
            is_skipping: false,
            at_end: false,
            deadline: Instant::now() + hurried(CHUNK_TIMEOUT),
        }
    }

    /// The next lines with their numbers; none when only blank or skipped input was read, or at the end. `in_hand`
    /// bytes of earlier lines are still in use. Cancel-safe.
    ///
    /// # Errors
    /// A problem, when the body breaks off, is too slow or needs too much memory.
    pub async fn next(&mut self, in_hand: usize) -> Result<Vec<(u64, BodyLine)>, Problem> {
        loop {
            // Takes all chunks that have arrived, so that many small ones are one round.
            while self.rest.len() < MAX_BYTES_PER_READ && !self.at_end {
                let Some(frame) = self.body.frame().now_or_never() else { break };
                self.add_frame(frame, in_hand)?;
            }
            let before = self.cost();
            let lines = self.take_lines();
            if self.cost() > before || self.is_finished() {
                return Ok(lines);
            }
            if !self.at_end {
                let late = |_| Problem::new(ProblemType::RequestTimeout, "nothing more of the body came in time");
                let frame = timeout_at(self.deadline, self.body.frame()).await.map_err(late)?;
                self.add_frame(frame, in_hand)?;
            }
        }
    }

    /// The cost so far in lines: blank and skipped ones count, and so do bytes.
    pub fn cost(&self) -> u64 {
        self.read + self.bytes / BYTES_PER_LINE_COST
    }

    /// Whether the body has ended.
    pub fn is_finished(&self) -> bool {
        self.at_end && self.rest.is_empty()
    }

    /// Restarts the timeout, because the sender had to wait.
    pub fn reset_deadline(&mut self) {
        self.deadline = Instant::now() + hurried(CHUNK_TIMEOUT);
    }

    fn add_frame(
        &mut self,
        frame: Option<Result<http_body::Frame<Bytes>, axum::Error>>,
        in_hand: usize,
    ) -> Result<(), Problem> {
        self.reset_deadline();
        let Some(frame) = frame else {
            self.at_end = true;
            return Ok(());
        };
        let frame = frame.map_err(|_| Problem::new(ProblemType::NotJson, "the body broke off"))?;
        let Ok(piece) = frame.into_data() else { return Ok(()) };
        self.reserved.grow(in_hand + self.rest.len() + piece.len())?;
        self.rest.extend_from_slice(&piece);
        if self.read == 0 && is_utf16(&self.rest) {
            return Err(Problem::new(ProblemType::NotJson, UTF16_RULE));
        }
        Ok(())
    }

    /// Splits off complete lines up to the limits; at the end of the body the rest is a line too.
    fn take_lines(&mut self) -> Vec<(u64, BodyLine)> {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        let last = self.read + MAX_LINES_PER_READ as u64;
        while self.read < last && bytes < MAX_BYTES_PER_READ {
            let end = self.rest[self.searched..].iter().position(|byte| *byte == b'\n');
            let line = match end {
                Some(end) => {
                    let line = self.rest.split_to(self.searched + end).freeze();
                    self.rest.advance(1);
                    line
                }
                None if self.at_end && !self.rest.is_empty() => self.rest.split().freeze(),
                None => {
                    self.searched = self.rest.len();
                    lines.extend(self.skip_long_line());
                    break;
                }
            };
            self.searched = 0;
            bytes += line.len();
            self.bytes += line.len() as u64;
            lines.extend(self.numbered(line));
        }
        lines
    }

    /// Drops a line over the limit.
    fn skip_long_line(&mut self) -> Option<(u64, BodyLine)> {
        if self.rest.len() <= self.max && !self.is_skipping {
            return None;
        }
        self.bytes += self.rest.len() as u64;
        self.rest = BytesMut::new();
        self.searched = 0;
        if std::mem::replace(&mut self.is_skipping, true) {
            return None;
        }
        self.read += 1;
        Some((self.read, BodyLine::TooLong))
    }

    /// `None` for a blank line, which still counts, and for the end of a skipped one.
    fn numbered(&mut self, line: Bytes) -> Option<(u64, BodyLine)> {
        if std::mem::take(&mut self.is_skipping) {
            return None;
        }
        self.read += 1;
        let mut line = line;
        if self.read == 1 && line.starts_with(MARK) {
            line.advance(MARK.len());
        }
        if line.len() > self.max {
            return Some((self.read, BodyLine::TooLong));
        }
        let is_blank = line.trim_ascii().is_empty();
        (!is_blank).then(|| (self.read, BodyLine::Text(line)))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;
    use crate::{access::Access, http::middleware::body_budget::MemoryPool};

    /// Reads a body that arrives in these chunks, with lines of at most eight bytes.
    async fn read(pieces: &[&str]) -> (Vec<(u64, Option<String>)>, u64) {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, Infallible>(piece.to_string())).collect();
        let budget = BodyBudget::authenticated(&MemoryPool::new(Access::off()), None);
        let mut lines = BodyLines::new(Body::from_stream(stream::iter(pieces)), &budget, 8);
        let mut all = Vec::new();
        loop {
            let some = lines.next(0).await.expect("it comes to its end");
            if some.is_empty() && lines.is_finished() {
                return (all, lines.read);
            }
            all.extend(some.into_iter().map(|(number, line)| match line {
                BodyLine::Text(text) => (number, Some(String::from_utf8(text.to_vec()).expect("text"))),
                BodyLine::TooLong => (number, None),
            }));
        }
    }

    fn text(number: u64, text: &str) -> (u64, Option<String>) {
        (number, Some(text.to_owned()))
    }

    #[tokio::test]
    async fn lines_do_not_depend_on_chunks() {
        let whole = "\u{feff}1\n\n  \r\n{\"a\":2}\r\n123456789\n12345678\nno end";
        let expected = vec![text(1, "1"), text(4, "{\"a\":2}\r"), (5, None), text(6, "12345678"), text(7, "no end")];
        assert_eq!(read(&[whole]).await, (expected.clone(), 7));
        let bytes: Vec<String> = whole.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(read(&bytes).await, (expected, 7), "a character at a time");
    }

    #[tokio::test]
    async fn endless_line_is_reported_once_and_not_kept() {
        let long = "x".repeat(100);
        let pieces: Vec<&str> = std::iter::repeat_n(long.as_str(), 1_000).chain(["\n2\n"]).collect();
        assert_eq!(read(&pieces).await, (vec![(1, None), text(2, "2")], 2));
        assert_eq!(read(&[&long]).await, (vec![(1, None)], 1), "nor at the end");
    }

    #[tokio::test]
    async fn empty_body_has_no_lines() {
        assert_eq!(read(&[]).await, (vec![], 0));
        assert_eq!(read(&["\n\n"]).await, (vec![], 2));
    }

    /// The total cost of the chunks, and the largest step.
    async fn cost(pieces: Vec<String>) -> (u64, u64) {
        let budget = BodyBudget::authenticated(&MemoryPool::new(Access::off()), None);
        let pieces = pieces.into_iter().map(Ok::<_, Infallible>);
        let mut lines = BodyLines::new(Body::from_stream(stream::iter(pieces)), &budget, 8);
        let (mut before, mut max_line) = (0, 0);
        while !lines.is_finished() {
            lines.next(0).await.expect("it comes to its end");
            max_line = max_line.max(lines.cost() - before);
            before = lines.cost();
        }
        (before, max_line)
    }

    #[tokio::test]
    async fn blank_and_skipped_lines_have_a_cost() {
        let at_once = (MAX_LINES_PER_READ + 2 * MAX_BYTES_PER_READ / BYTES_PER_LINE_COST as usize) as u64;
        for (piece, pieces, expected) in [
            ("\n".repeat(20_000), 5, 100_000),
            (" \r\n".repeat(1_000), 5, 5_000),
            ("x".repeat(64 << 10), 40, 41),
            ("x".repeat(1 << 10), 40 * 64, 41),
            ("1\n".repeat(1_000), 2, 2_000),
        ] {
            let (all, max) = cost(vec![piece.clone(); pieces]).await;
            assert!((expected..expected + 5).contains(&all), "{all} for {pieces} of {:?}", &piece[..2]);
            assert!(max <= at_once, "{max} at once of {:?}", &piece[..2]);
        }
    }

    #[tokio::test]
    async fn aborted_body_has_no_last_line() {
        let pieces = [Ok("1\n2"), Err(std::io::Error::other("cut"))];
        let budget = BodyBudget::authenticated(&MemoryPool::new(Access::off()), None);
        let mut lines = BodyLines::new(Body::from_stream(stream::iter(pieces)), &budget, 8);
        let (mut whole, mut problem) = (Vec::new(), None);
        while problem.is_none() {
            match lines.next(0).await {
                Ok(some) => whole.extend(some),
                Err(why) => problem = Some(why),
            }
        }
        assert!(whole.iter().all(|(_, line)| *line == BodyLine::Text(Bytes::from_static(b"1"))), "{whole:?}");
    }
}
