//! A queue of three minimal scripts, by a client that pipelines: it ends its last job, enqueues one and takes one. No
//! HTTP, lease, attempt, key or event: the lower bound of any queue of this kind.

use std::io::Write;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

use super::super::crowd;
use crate::rig::{client::payload, engine::Engine};

const PUT: &str = "return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])";
const TAKE: &str = "local job = redis.call('ZPOPMIN', KEYS[1])[1] if job then redis.call('ZADD', KEYS[2], ARGV[1], job) end return job";
const FINISH: &str = "return redis.call('ZREM', KEYS[1], ARGV[1])";

/// Their SHA-1 digests.
#[derive(Clone)]
pub struct Scripts {
    pub put: String,
    pub take: String,
    pub finish: String,
}

pub fn load(engine: &Engine) -> Scripts {
    let load = |script: &str| {
        let answer = engine.ask(&format!("SCRIPT LOAD \"{script}\""));
        answer.lines().nth(1).expect("the name of a script").to_owned()
    };
    Scripts { put: load(PUT), take: load(TAKE), finish: load(FINISH) }
}

pub struct Caller {
    stream: UnixStream,
    scripts: Scripts,
    job: Vec<u8>,
    bytes: Vec<u8>,
}

impl Caller {
    pub fn to(engine: &Engine, scripts: &Scripts) -> Self {
        let stream = std::os::unix::net::UnixStream::connect(engine.socket()).expect("Redis");
        stream.set_nonblocking(true).expect("a socket");
        let stream = UnixStream::from_std(stream).expect("a socket");
        Self { stream, scripts: scripts.clone(), job: b"none".to_vec(), bytes: Vec::new() }
    }

    fn say(&mut self, script: usize, words: &[&[u8]]) {
        let name = [&self.scripts.put, &self.scripts.take, &self.scripts.finish][script];
        write!(self.bytes, "*{}\r\n$7\r\nEVALSHA\r\n$40\r\n{name}\r\n", words.len() + 2).expect("memory");
        for word in words {
            write!(self.bytes, "${}\r\n", word.len()).expect("memory");
            self.bytes.extend_from_slice(word);
            self.bytes.extend_from_slice(b"\r\n");
        }
    }
}

impl crowd::Caller for Caller {
    async fn cycle(&mut self, n: u64) {
        let (score, job) = (n.to_string(), std::mem::take(&mut self.job));
        self.bytes.clear();
        self.say(2, &[b"1", b"bare:reserved", &job]);
        self.say(0, &[b"1", b"bare:inbound", score.as_bytes(), payload(n).as_bytes()]);
        self.say(1, &[b"2", b"bare:inbound", b"bare:reserved", score.as_bytes()]);
        self.stream.write_all(&self.bytes).await.expect("sent");
        self.bytes.clear();
        loop {
            let read = self.stream.read_buf(&mut self.bytes).await.expect("an answer");
            assert!(read > 0, "Redis closed the connection");
            if let Some(job) = taken(&self.bytes) {
                self.job = job.to_vec();
                return;
            }
        }
    }
}

/// The job, after two numbers, once all of it is there.
fn taken(answer: &[u8]) -> Option<&[u8]> {
    let mut parts = answer.splitn(4, |byte| *byte == b'\n');
    for _ in 0..2 {
        let number = parts.next()?;
        assert!(number.first() == Some(&b':'), "Redis refused: {}", String::from_utf8_lossy(answer));
    }
    let length = std::str::from_utf8(parts.next()?).expect("text").trim();
    let length: usize = length.strip_prefix('$').and_then(|length| length.parse().ok()).expect("a job");
    let job = parts.next()?;
    (job.len() == length + 2).then(|| &job[..length])
}
