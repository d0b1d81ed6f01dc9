//! A body that is sent piece by piece, with an answer that is read line by line.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

use super::{contract::CONTRACT, http::Client};

const IO_TIMEOUT: Duration = Duration::from_secs(40);

/// One NDJSON `POST /jobs` on its own connection; closes it when dropped.
pub struct Upload {
    to: OwnedWriteHalf,
    from: BufReader<OwnedReadHalf>,
    /// The unread part of the current chunk.
    unread: String,
}

impl Upload {
    pub async fn begin(client: &Client, query: &str, headers: &[(&str, &str)]) -> Self {
        let (from, mut to) = TcpStream::connect(client.address()).await.expect("the service listens").into_split();
        let mut head = format!("POST /jobs{query} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n");
        for (name, value) in headers.iter().chain(&[("content-type", "application/x-ndjson")]) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        to.write_all(format!("{head}\r\n").as_bytes()).await.expect("the service reads");
        Self { to, from: BufReader::new(from), unread: String::new() }
    }

    /// False when the service no longer reads.
    pub async fn send(&mut self, text: &str) -> bool {
        let piece = format!("{:x}\r\n{text}\r\n", text.len());
        timeout(IO_TIMEOUT, self.to.write_all(piece.as_bytes())).await.is_ok_and(|sent| sent.is_ok())
    }

    pub async fn finish(&mut self) {
        // The service may have answered and closed the connection.
        let _ = self.to.write_all(b"0\r\n\r\n").await;
    }

    /// The status of the answer, whose body is next.
    pub async fn status(&mut self) -> u16 {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = timeout(IO_TIMEOUT, self.from.read_line(&mut head)).await.expect("a head").expect("a head");
            assert!(read > 0, "it was cut: {head}");
        }
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no status: {head}"))
    }

    /// The next line of an answer that comes in chunks.
    pub async fn line(&mut self) -> Value {
        while !self.unread.contains('\n') {
            let mut size = String::new();
            timeout(IO_TIMEOUT, self.from.read_line(&mut size)).await.expect("a chunk").expect("a chunk");
            let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("no size: {size:?}"));
            let mut chunk = vec![0; size + 2];
            self.from.read_exact(&mut chunk).await.expect("all of it");
            chunk.truncate(size);
            self.unread.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
        let line: String = self.unread.drain(..=self.unread.find('\n').expect("a line")).collect();
        CONTRACT.check_lines(&line);
        serde_json::from_str(&line).expect("JSON")
    }

    /// Expects the end of the answer before the end of the body.
    pub async fn assert_answer_ends(mut self) {
        let mut rest = String::new();
        let read = timeout(Duration::from_secs(10), self.from.read_to_string(&mut rest)).await;
        assert!(read.is_ok() && rest == "0\r\n\r\n", "{read:?}: {rest:?}");
    }

    /// The whole answer, read after the body is sent.
    pub async fn answer(mut self) -> (u16, Vec<Value>) {
        let status = self.status().await;
        let mut text = String::new();
        // A connection that is closed after the answer, or not: its last line has the end of it.
        while !text.lines().any(|line| line.contains("\"complete\"")) {
            let read =
                timeout(IO_TIMEOUT, self.from.read_line(&mut text)).await.expect("an answer").expect("an answer");
            assert!(read > 0, "it was cut: {text}");
        }
        CONTRACT.check_lines(&text);
        (status, text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
    }
}
