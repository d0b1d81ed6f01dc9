//! A receiver of webhooks, over real TCP, that answers as a story says.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use intray_webhook::{WebhookSecret, sign};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use super::eventually;

/// A request that was signed by one of the secrets, or was not.
#[derive(Debug, Clone)]
pub struct Posted {
    pub id: String,
    pub timestamp: u64,
    pub signature: String,
    pub body: Value,
    pub text: String,
    /// The port that its connection came from.
    pub peer: u16,
}

impl Posted {
    pub fn kind(&self) -> &str {
        self.body["type"].as_str().expect("a type")
    }

    pub fn job(&self) -> &str {
        self.body["data"]["id"].as_str().expect("an id")
    }

    pub fn is_signed_by(&self, secret: &str) -> bool {
        let secret = WebhookSecret::parse(secret).expect("a secret");
        let own = sign(&[secret], &self.id, self.timestamp, self.text.as_bytes());
        self.signature.split(' ').any(|signature| signature == own)
    }
}

/// What a receiver does with a request.
#[derive(Clone)]
pub enum Reaction {
    Status(u16),
    /// With a header.
    With(u16, &'static str, String),
    /// Reads it, and answers nothing as long as the connection stands.
    Silence,
}

type Behavior = Box<dyn Fn(&Posted) -> Reaction + Send>;

struct Desk {
    posted: Vec<Posted>,
    behavior: Behavior,
}

pub struct Receiver {
    port: u16,
    desk: Arc<Mutex<Desk>>,
    serving: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Takes everything.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let desk = Desk { posted: Vec::new(), behavior: Box::new(|_| Reaction::Status(204)) };
        let desk = Arc::new(Mutex::new(desk));
        let serving = Some(tokio::spawn(serve(listener, desk.clone())));
        Self { port, desk, serving }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/inbox?key=hunter2", self.port)
    }

    /// Refuses connections from now on, and closes those that stand.
    pub async fn go_down(&mut self) {
        let serving = self.serving.take().expect("it is up");
        serving.abort();
        let _ = serving.await;
    }

    pub async fn come_back(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await.expect("the same port");
        self.serving = Some(tokio::spawn(serve(listener, self.desk.clone())));
    }

    pub fn react(&self, behavior: impl Fn(&Posted) -> Reaction + Send + 'static) {
        self.desk().behavior = Box::new(behavior);
    }

    pub fn posted(&self) -> Vec<Posted> {
        self.desk().posted.clone()
    }

    /// How often each id came.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        self.posted().into_iter().for_each(|posted| *counts.entry(posted.id).or_default() += 1);
        counts
    }

    /// Waits for so many requests.
    pub async fn wait_for(&self, count: usize) -> Vec<Posted> {
        let what = format!("{count} requests");
        eventually(&what, async || Some(self.posted()).filter(|posted| posted.len() >= count)).await
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().expect("no thread panics with it")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
    }
}

async fn serve(listener: TcpListener, desk: Arc<Mutex<Desk>>) {
    // Connections end with this task.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(answer(stream, desk.clone()));
    }
}

async fn answer(stream: TcpStream, desk: Arc<Mutex<Desk>>) -> Option<()> {
    let peer = stream.peer_addr().ok()?.port();
    let mut stream = BufReader::new(stream);
    loop {
        let posted = read(&mut stream, peer).await?;
        let reaction = {
            let mut desk = desk.lock().expect("no thread panics with it");
            let reaction = (desk.behavior)(&posted);
            desk.posted.push(posted);
            reaction
        };
        let head = match reaction {
            Reaction::Status(status) => format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n"),
            Reaction::With(status, name, value) => {
                format!("HTTP/1.1 {status} x\r\n{name}: {value}\r\ncontent-length: 0\r\n\r\n")
            }
            Reaction::Silence => {
                tokio::time::sleep(Duration::from_secs(3_600)).await;
                return None;
            }
        };
        stream.write_all(head.as_bytes()).await.ok()?;
    }
}

async fn read(stream: &mut BufReader<TcpStream>, peer: u16) -> Option<Posted> {
    let (mut headers, mut line) = (BTreeMap::new(), String::new());
    stream.read_line(&mut line).await.ok().filter(|length| *length > 0)?;
    assert!(line.starts_with("POST /inbox?key=hunter2 "), "{line}");
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok().filter(|length| *length > 0)?;
        match line.trim().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let mut body = vec![0; headers["content-length"].parse().expect("a length")];
    stream.read_exact(&mut body).await.ok()?;
    let text = String::from_utf8(body).expect("UTF-8");
    Some(Posted {
        id: headers["webhook-id"].clone(),
        timestamp: headers["webhook-timestamp"].parse().expect("seconds"),
        signature: headers["webhook-signature"].clone(),
        body: serde_json::from_str(&text).expect("JSON"),
        text,
        peer,
    })
}
