//! A client that costs little beside what is measured, and the jobs that it sends.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// One kept-alive connection, with no more of HTTP than this service needs: it must cost little beside what is measured.
pub struct Client {
    stream: TcpStream,
    host: SocketAddr,
    answer: Vec<u8>,
}

impl Client {
    pub async fn to(host: SocketAddr) -> Self {
        let stream = TcpStream::connect(host).await.expect("the service");
        stream.set_nodelay(true).expect("nodelay");
        Self { stream, host, answer: Vec::new() }
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
        let (is_well, start, end) = self.send(path, body).await;
        assert!(is_well, "{}", String::from_utf8_lossy(&self.answer));
        std::str::from_utf8(&self.answer[start..end]).expect("UTF-8")
    }

    /// The same cycle, and whether all of it was answered well: a service that does not run at its usual speed may be late.
    pub async fn try_cycle(&mut self, n: u64) -> bool {
        let job = format!(r#"{{"queue":"heat","payload":{}}}"#, payload(n));
        let mut all_well = self.send("/jobs", &job).await.0;
        let (is_well, start, end) = self.send("/jobs/reserve", r#"{"queues":["heat"]}"#).await;
        all_well &= is_well;
        let jobs = std::str::from_utf8(&self.answer[start..end]).expect("UTF-8");
        if jobs.contains(r#""reservation":""#) {
            let done = format!(r#"{{"reservation":"{}"}}"#, field(jobs, "reservation"));
            all_well &= self.send("/jobs/complete", &done).await.0;
        }
        all_well
    }

    /// Whether it was answered well, and where in the answer the body is.
    async fn send(&mut self, path: &str, body: &str) -> (bool, usize, usize) {
        let host = self.host;
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await.expect("sent");
        self.answer.clear();
        let (mut chunk, mut end) = ([0; 8_192], None);
        loop {
            let n = self.stream.read(&mut chunk).await.expect("an answer");
            assert!(n > 0, "the service closed the connection");
            self.answer.extend_from_slice(&chunk[..n]);
            if end.is_none() {
                end = body_end(&self.answer);
            }
            if let Some((start, end)) = end.filter(|(_, end)| *end <= self.answer.len()) {
                return (self.answer.starts_with(b"HTTP/1.1 20"), start, end);
            }
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

/// A value out of flat JSON text, without a parser's cost.
pub fn field<'t>(text: &'t str, name: &str) -> &'t str {
    let at = text.find(&format!("\"{name}\":\"")).unwrap_or_else(|| panic!("{name} in {text}")) + name.len() + 4;
    &text[at..at + text[at..].find('"').expect("a string's end")]
}

/// A distinct payload of 200 bytes.
pub fn payload(n: u64) -> String {
    let head = format!(r#"{{"n":{n},"text":""#);
    format!("{head}{}\"}}", "x".repeat(200 - head.len() - 2))
}
