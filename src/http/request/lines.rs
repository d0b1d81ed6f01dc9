//! A body that is cut into its lines while it comes, and of which no more is in hand than what is being worked on.

use std::time::Duration;

use axum::body::Body;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::{
    http::{
        middleware::body_budget::{Purse, Share},
        response::problem::{Failure, Problem},
    },
    text::{MARK, UTF16_RULE, is_utf16},
};

pub const NDJSON: &str = "application/x-ndjson";
/// For the next piece of a body, however many there are.
const PIECE_TIME: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 30_000 });
/// What is handed on at a time, if so much is there.
const MOST_LINES: usize = 256;
const MOST_BYTES: usize = 256 << 10;
/// So many bytes cost as much as a line does, beside the lines that they are.
const BYTES_PER_COST: u64 = 64 << 10;

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Text(Bytes),
    TooLong,
}

pub struct Lines {
    body: Body,
    share: Share,
    /// What has come and is not handed on yet; so much of it has no end of a line.
    rest: BytesMut,
    looked_at: usize,
    /// Bytes of the longest line.
    most: usize,
    /// Of the line that was read last, blank ones included.
    pub read: u64,
    /// Bytes of the lines that were read, and of what was given up.
    bytes: u64,
    /// The rest of a line that was too long is on its way.
    is_skipping: bool,
    is_whole: bool,
    patience: Instant,
}

impl Lines {
    pub fn new(body: Body, purse: &Purse, most: usize) -> Self {
        Self {
            body,
            share: purse.open(),
            rest: BytesMut::new(),
            looked_at: 0,
            most,
            read: 0,
            bytes: 0,
            is_skipping: false,
            is_whole: false,
            patience: Instant::now() + PIECE_TIME,
        }
    }

    /// The next lines, each with its number, as soon as there are some; none when only what costs and is no job was read, or
    /// when it is over. `in_hand` bytes of those before are not done yet. It may be dropped while it waits, and nothing is lost.
    ///
    /// # Errors
    /// The problem that ends a body before its time.
    pub async fn next(&mut self, in_hand: usize) -> Result<Vec<(u64, Line)>, Problem> {
        loop {
            // What is there already comes along: many short pieces are one round.
            while self.rest.len() < MOST_BYTES && !self.is_whole {
                let Some(frame) = self.body.frame().now_or_never() else { break };
                self.hear(frame, in_hand)?;
            }
            let before = self.cost();
            let lines = self.cut();
            if self.cost() > before || self.is_over() {
                return Ok(lines);
            }
            if !self.is_whole {
                let late = |_| Problem::new(Failure::RequestTimeout, "nothing more of the body came in time");
                let frame = timeout_at(self.patience, self.body.frame()).await.map_err(late)?;
                self.hear(frame, in_hand)?;
            }
        }
    }

    /// What was read so far, in lines: blank ones cost too, and so do bytes, also those of a line that is too long.
    pub fn cost(&self) -> u64 {
        self.read + self.bytes / BYTES_PER_COST
    }

    /// Nothing more comes.
    pub fn is_over(&self) -> bool {
        self.is_whole && self.rest.is_empty()
    }

    /// Whoever was kept waiting is given time anew.
    pub fn is_kept_waiting(&mut self) {
        self.patience = Instant::now() + PIECE_TIME;
    }

    fn hear(
        &mut self,
        frame: Option<Result<http_body::Frame<Bytes>, axum::Error>>,
        in_hand: usize,
    ) -> Result<(), Problem> {
        self.is_kept_waiting();
        let Some(frame) = frame else {
            self.is_whole = true;
            return Ok(());
        };
        let frame = frame.map_err(|_| Problem::new(Failure::NotJson, "the body broke off"))?;
        let Ok(piece) = frame.into_data() else { return Ok(()) };
        self.share.grow(in_hand + self.rest.len() + piece.len())?;
        self.rest.extend_from_slice(&piece);
        if self.read == 0 && is_utf16(&self.rest) {
            return Err(Problem::new(Failure::NotJson, UTF16_RULE));
        }
        Ok(())
    }

    /// The whole lines that are there, up to as many as go together; at the end of the body what is left is one too.
    fn cut(&mut self) -> Vec<(u64, Line)> {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        let last = self.read + MOST_LINES as u64;
        while self.read < last && bytes < MOST_BYTES {
            let end = self.rest[self.looked_at..].iter().position(|byte| *byte == b'\n');
            let line = match end {
                Some(end) => {
                    let line = self.rest.split_to(self.looked_at + end).freeze();
                    self.rest.advance(1);
                    line
                }
                None if self.is_whole && !self.rest.is_empty() => self.rest.split().freeze(),
                None => {
                    self.looked_at = self.rest.len();
                    lines.extend(self.give_up());
                    break;
                }
            };
            self.looked_at = 0;
            bytes += line.len();
            self.bytes += line.len() as u64;
            lines.extend(self.numbered(line));
        }
        lines
    }

    /// A line that is too long already, of which nothing is kept.
    fn give_up(&mut self) -> Option<(u64, Line)> {
        if self.rest.len() <= self.most && !self.is_skipping {
            return None;
        }
        self.bytes += self.rest.len() as u64;
        self.rest = BytesMut::new();
        self.looked_at = 0;
        if std::mem::replace(&mut self.is_skipping, true) {
            return None;
        }
        self.read += 1;
        Some((self.read, Line::TooLong))
    }

    /// None of a blank line, which counts all the same, and of the end of one that was given up.
    fn numbered(&mut self, line: Bytes) -> Option<(u64, Line)> {
        if std::mem::take(&mut self.is_skipping) {
            return None;
        }
        self.read += 1;
        let mut line = line;
        if self.read == 1 && line.starts_with(MARK) {
            line.advance(MARK.len());
        }
        if line.len() > self.most {
            return Some((self.read, Line::TooLong));
        }
        let is_blank = line.trim_ascii().is_empty();
        (!is_blank).then(|| (self.read, Line::Text(line)))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;
    use crate::{access::Access, http::middleware::body_budget::Bodies};

    /// What is read of a body that comes in such pieces; a line has at most eight bytes.
    async fn read(pieces: &[&str]) -> (Vec<(u64, Option<String>)>, u64) {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, Infallible>(piece.to_string())).collect();
        let purse = Purse::of_known(&Bodies::new(Access::off()), None);
        let mut lines = Lines::new(Body::from_stream(stream::iter(pieces)), &purse, 8);
        let mut all = Vec::new();
        loop {
            let some = lines.next(0).await.expect("it comes to its end");
            if some.is_empty() && lines.is_over() {
                return (all, lines.read);
            }
            all.extend(some.into_iter().map(|(number, line)| match line {
                Line::Text(text) => (number, Some(String::from_utf8(text.to_vec()).expect("text"))),
                Line::TooLong => (number, None),
            }));
        }
    }

    fn text(number: u64, text: &str) -> (u64, Option<String>) {
        (number, Some(text.to_owned()))
    }

    #[tokio::test]
    async fn lines_are_the_same_however_the_body_comes() {
        let whole = "\u{feff}1\n\n  \r\n{\"a\":2}\r\n123456789\n12345678\nno end";
        let expected = vec![text(1, "1"), text(4, "{\"a\":2}\r"), (5, None), text(6, "12345678"), text(7, "no end")];
        assert_eq!(read(&[whole]).await, (expected.clone(), 7));
        let bytes: Vec<String> = whole.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(read(&bytes).await, (expected, 7), "a character at a time");
    }

    #[tokio::test]
    async fn a_line_that_never_ends_is_one_line_and_is_not_kept() {
        let long = "x".repeat(100);
        let pieces: Vec<&str> = std::iter::repeat_n(long.as_str(), 1_000).chain(["\n2\n"]).collect();
        assert_eq!(read(&pieces).await, (vec![(1, None), text(2, "2")], 2));
        assert_eq!(read(&[&long]).await, (vec![(1, None)], 1), "nor at the end");
    }

    #[tokio::test]
    async fn of_nothing_there_are_no_lines() {
        assert_eq!(read(&[]).await, (vec![], 0));
        assert_eq!(read(&["\n\n"]).await, (vec![], 2));
    }

    /// What is read of the pieces costs in all, and at most at once.
    async fn cost(pieces: Vec<String>) -> (u64, u64) {
        let purse = Purse::of_known(&Bodies::new(Access::off()), None);
        let pieces = pieces.into_iter().map(Ok::<_, Infallible>);
        let mut lines = Lines::new(Body::from_stream(stream::iter(pieces)), &purse, 8);
        let (mut before, mut most) = (0, 0);
        while !lines.is_over() {
            lines.next(0).await.expect("it comes to its end");
            most = most.max(lines.cost() - before);
            before = lines.cost();
        }
        (before, most)
    }

    #[tokio::test]
    async fn blank_lines_and_the_rest_of_a_long_one_cost() {
        let at_once = (MOST_LINES + 2 * MOST_BYTES / BYTES_PER_COST as usize) as u64;
        for (piece, pieces, expected) in [
            ("\n".repeat(20_000), 5, 100_000),
            (" \r\n".repeat(1_000), 5, 5_000),
            ("x".repeat(64 << 10), 40, 41),
            ("x".repeat(1 << 10), 40 * 64, 41),
            ("1\n".repeat(1_000), 2, 2_000),
        ] {
            let (all, most) = cost(vec![piece.clone(); pieces]).await;
            assert!((expected..expected + 5).contains(&all), "{all} for {pieces} of {:?}", &piece[..2]);
            assert!(most <= at_once, "{most} at once of {:?}", &piece[..2]);
        }
    }

    #[tokio::test]
    async fn what_breaks_off_has_no_last_line() {
        let pieces = [Ok("1\n2"), Err(std::io::Error::other("cut"))];
        let purse = Purse::of_known(&Bodies::new(Access::off()), None);
        let mut lines = Lines::new(Body::from_stream(stream::iter(pieces)), &purse, 8);
        let (mut whole, mut problem) = (Vec::new(), None);
        while problem.is_none() {
            match lines.next(0).await {
                Ok(some) => whole.extend(some),
                Err(why) => problem = Some(why),
            }
        }
        assert!(whole.iter().all(|(_, line)| *line == Line::Text(Bytes::from_static(b"1"))), "{whole:?}");
    }
}
