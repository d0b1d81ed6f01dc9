//! beanstalkd by its own protocol, with its log on disk synced each second, as Redis's is.

use std::{net::SocketAddr, process::Command};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{super::crowd, Server, free, listening, nonblocking};
use crate::rig::{client::payload, engine::Engine};

pub fn start(engine: &Engine) -> Option<Server> {
    let (address, folder) = (free(), engine.folder().join("beanstalkd"));
    std::fs::create_dir(&folder).expect("a folder");
    let mut command = Command::new("beanstalkd");
    command.args(["-l", "127.0.0.1", "-p", &address.port().to_string(), "-f", "1000", "-b"]).arg(folder);
    listening(&mut command, address)
}

pub struct Caller {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Caller {
    pub fn to(address: SocketAddr) -> Self {
        let stream = std::net::TcpStream::connect(address).expect("beanstalkd");
        Self { stream: nonblocking(stream), answer: Vec::new() }
    }

    /// The first line of the answer, once so many lines are there.
    async fn say(&mut self, words: &str, lines: usize) -> &str {
        self.stream.write_all(words.as_bytes()).await.expect("sent");
        self.answer.clear();
        while self.answer.iter().filter(|byte| **byte == b'\n').count() < lines {
            let read = self.stream.read_buf(&mut self.answer).await.expect("an answer");
            assert!(read > 0, "beanstalkd closed the connection");
        }
        std::str::from_utf8(&self.answer).expect("text").lines().next().unwrap_or_default()
    }
}

impl crowd::Caller for Caller {
    async fn cycle(&mut self, n: u64) {
        let job = payload(n);
        let put = self.say(&format!("put 50 0 300 {}\r\n{job}\r\n", job.len()), 1).await;
        assert!(put.starts_with("INSERTED"), "{put}");
        let taken = self.say("reserve\r\n", 2).await;
        let id = taken.strip_prefix("RESERVED ").and_then(|rest| rest.split(' ').next());
        let done = format!("delete {}\r\n", id.expect("a job"));
        let done = self.say(&done, 1).await;
        assert!(done.starts_with("DELETED"), "{done}");
    }
}
