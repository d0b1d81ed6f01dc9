//! A client that uses little CPU, and the jobs that it sends.

use std::{
    io,
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use super::tls::Tls;

/// How often a call was answered with 503 and repeated. Benchmarks report it.
pub static ASKED_AGAIN: AtomicU64 = AtomicU64::new(0);
const PATIENCE: u32 = 50;

/// One kept-alive connection, with only the HTTP that this service needs, so that it uses little CPU.
pub struct Client {
    stream: Wire,
    host: SocketAddr,
    answer: Vec<u8>,
}

impl Client {
    pub async fn to(host: SocketAddr) -> Self {
        let stream = TcpStream::connect(host).await.expect("the service");
        stream.set_nodelay(true).expect("nodelay");
        Self { stream: Wire::Plain(stream), host, answer: Vec::new() }
    }

    pub async fn by_tls(tls: &Tls, host: SocketAddr) -> Self {
        Self { stream: Wire::Tls(Box::new(tls.connect(host).await)), host, answer: Vec::new() }
    }

    /// Enqueue, reserve and complete: three requests.
    pub async fn cycle(&mut self, n: u64) {
        self.post("/jobs", &format!(r#"{{"queue":"bench","payload":{}}}"#, payload(n))).await;
        let job = self.post("/jobs/reserve", r#"{"queues":["bench"]}"#).await;
        let reservation = field(job, "reservation").to_owned();
        self.post("/jobs/complete", &format!(r#"{{"reservation":"{reservation}"}}"#)).await;
    }

    /// Posts JSON and answers with the body.
    pub async fn post(&mut self, path: &str, body: &str) -> &str {
        self.request("POST", path, body).await
    }

    /// # Panics
    /// When the answer is none of success. A service that says that Redis is too slow now is asked again.
    pub async fn request(&mut self, method: &str, path: &str, body: &str) -> &str {
        let (mut is_well, mut start, mut end) = self.send(method, path, body).await;
        for _ in 0..PATIENCE {
            if is_well || !self.answer.starts_with(b"HTTP/1.1 503") {
                break;
            }
            ASKED_AGAIN.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
            (is_well, start, end) = self.send(method, path, body).await;
        }
        assert!(is_well, "{method} {path}: {}", String::from_utf8_lossy(&self.answer));
        std::str::from_utf8(&self.answer[start..end]).expect("UTF-8")
    }

    /// The same cycle, and whether every call succeeded: a slowed service may be late.
    pub async fn try_cycle(&mut self, n: u64) -> bool {
        let job = format!(r#"{{"queue":"heat","payload":{}}}"#, payload(n));
        let mut all_well = self.send("POST", "/jobs", &job).await.0;
        let (is_well, start, end) = self.send("POST", "/jobs/reserve", r#"{"queues":["heat"]}"#).await;
        all_well &= is_well;
        let jobs = std::str::from_utf8(&self.answer[start..end]).expect("UTF-8");
        if jobs.contains(r#""reservation":""#) {
            let done = format!(r#"{{"reservation":"{}"}}"#, field(jobs, "reservation"));
            all_well &= self.send("POST", "/jobs/complete", &done).await.0;
        }
        all_well
    }

    /// Whether the call succeeded, and where its body starts.
    async fn send(&mut self, method: &str, path: &str, body: &str) -> (bool, usize, usize) {
        let host = self.host;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await.expect("sent");
        self.answer.clear();
        let mut end = None;
        loop {
            self.answer.reserve(8_192);
            let n = self.stream.read_into(&mut self.answer).await.expect("an answer");
            assert!(n > 0, "the service closed the connection");
            if end.is_none() {
                end = body_end(&self.answer);
            }
            if let Some((start, end)) = end.filter(|(_, end)| *end <= self.answer.len()) {
                return (self.answer.starts_with(b"HTTP/1.1 20"), start, end);
            }
        }
    }

    /// Discards everything received from now on, as a reader of an event stream.
    pub async fn drain(mut self, path: &str) {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        self.stream.write_all(request.as_bytes()).await.expect("sent");
        while self.stream.read_into(&mut self.answer).await.is_ok_and(|n| n > 0) {
            self.answer.clear();
        }
    }
}

/// The connection of a client.
enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.write_all(bytes).await,
            Self::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }

    async fn read_into(&mut self, answer: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read_buf(answer).await,
            Self::Tls(stream) => stream.read_buf(answer).await,
        }
    }
}

fn body_end(answer: &[u8]) -> Option<(usize, usize)> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&answer[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    Some((head + 4, head + 4 + length))
}

/// A value in flat JSON text, found without a parser.
pub fn field<'t>(text: &'t str, name: &str) -> &'t str {
    fields(text, name).next().unwrap_or_else(|| panic!("{name} in {text}"))
}

/// All values of that name, in order.
pub fn fields<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let key = format!("\"{name}\":\"");
    let mut rest = text;
    std::iter::from_fn(move || {
        let from = rest.find(&key)? + key.len();
        let end = from + rest[from..].find('"')?;
        let value = &rest[from..end];
        rest = &rest[end..];
        Some(value)
    })
}

/// A distinct payload of 200 bytes.
pub fn payload(n: u64) -> String {
    let head = format!(r#"{{"n":{n},"text":""#);
    format!("{head}{}\"}}", "x".repeat(200 - head.len() - 2))
}
