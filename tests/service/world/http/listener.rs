//! A client of the event stream: reads it message by message and checks each against the contract.

use std::time::Duration;

use serde_json::Value;

use super::{Answer, CONTRACT, Client};

/// Longer than the interval of heartbeats.
const MESSAGE_TIMEOUT: Duration = super::super::PATIENCE;
/// Limit for a whole stream.
const STREAM_TIMEOUT: Duration = Duration::from_secs(600);

/// The open answer of `GET /events`.
pub struct Listener {
    answer: reqwest::Response,
    unread: Vec<u8>,
    /// The id of the message that was read last.
    pub last_id: String,
}

/// A message of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Empty for the last of a stream, which says `retry` and nothing else.
    pub id: String,
    pub kind: String,
    pub data: Value,
    pub retry: Option<u64>,
}

impl Client {
    /// Listens from now on; `query` follows `/events`.
    pub async fn listen(&self, query: &str) -> Listener {
        self.try_listen(query, None).await.unwrap_or_else(|refusal| panic!("{query}: {}", refusal.text()))
    }

    /// Resumes after a message id.
    pub async fn listen_after(&self, query: &str, id: &str) -> Listener {
        self.try_listen(query, Some(id)).await.unwrap_or_else(|refusal| panic!("{query}: {}", refusal.text()))
    }

    /// # Errors
    /// The refusal.
    pub async fn try_listen(&self, query: &str, after: Option<&str>) -> Result<Listener, Answer> {
        let path = format!("/events{query}");
        let mut request = self.http.get(format!("{}{path}", self.base)).timeout(STREAM_TIMEOUT);
        if let Some(bearer) = &self.bearer {
            request = request.header("authorization", format!("Bearer {bearer}"));
        }
        if let Some(id) = after {
            request = request.header("last-event-id", id);
        }
        let mut answer = request.send().await.unwrap_or_else(|e| panic!("GET {path}: {e:?}"));
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        if status != 200 {
            let body = answer.bytes().await.unwrap_or_else(|e| panic!("GET {path}: {e:?}")).to_vec();
            let refusal = Answer { status, headers, body };
            CONTRACT.check("GET", &path, &refusal);
            return Err(refusal);
        }
        // The service sends a first message at once.
        let unread = next_chunk(&mut answer).await.expect("a first message");
        CONTRACT.check("GET", &path, &Answer { status, headers, body: unread.clone() });
        Ok(Listener { answer, unread, last_id: after.unwrap_or_default().to_owned() })
    }

    /// The head of a stream and its beginning, as if that were the whole answer; or the refusal.
    pub async fn listen_answer(&self, query: &str) -> Answer {
        match self.try_listen(query, None).await {
            Ok(events) => Answer { status: 200, headers: events.answer.headers().clone(), body: events.unread },
            Err(refusal) => refusal,
        }
    }
}

/// The next chunk; `None` at the end of the stream.
async fn next_chunk(answer: &mut reqwest::Response) -> Option<Vec<u8>> {
    let chunk = tokio::time::timeout(MESSAGE_TIMEOUT, answer.chunk()).await.expect("a heartbeat at least");
    // A stream that is cut has ended, one that is open for too long has not.
    assert!(
        !chunk.as_ref().is_err_and(reqwest::Error::is_timeout),
        "the stream is still open after {STREAM_TIMEOUT:?}"
    );
    chunk.ok().flatten().map(|bytes| bytes.to_vec())
}

impl Listener {
    /// The next complete message; `None` when the stream has ended.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|pair| pair == b"\n\n") {
                let text: Vec<u8> = self.unread.drain(..end + 2).collect();
                let message = Message::read(std::str::from_utf8(&text[..end]).expect("UTF-8"));
                if !message.id.is_empty() {
                    self.last_id.clone_from(&message.id);
                }
                return Some(message);
            }
            self.unread.extend(next_chunk(&mut self.answer).await?);
        }
    }

    /// The next message that is not a heartbeat. Panics after three heartbeats in a row.
    pub async fn next_event(&mut self) -> Option<Message> {
        for _ in 0..3 {
            let message = self.next().await?;
            if message.kind != "heartbeat" {
                return Some(message);
            }
        }
        panic!("nothing but heartbeats");
    }

    /// The data of the next so many events.
    pub async fn read_events(&mut self, n: usize) -> Vec<Value> {
        let mut events = Vec::with_capacity(n);
        for _ in 0..n {
            events.push(self.next_event().await.expect("the stream continues").data);
        }
        events
    }

    /// The data of all events up to the first of this type, without it.
    pub async fn read_until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let message = self.next_event().await.expect("the stream continues");
            if message.kind == kind {
                return events;
            }
            events.push(message.data);
        }
    }

    /// Everything until the stream ends.
    pub async fn read_to_end(&mut self) -> Vec<Message> {
        let mut rest = Vec::new();
        let all = async {
            while let Some(message) = self.next().await {
                rest.push(message);
            }
        };
        tokio::time::timeout(super::super::PATIENCE, all).await.expect("a stream that ends");
        rest
    }
}

impl Message {
    /// Parses a message as WHATWG HTML defines it; refuses fields that are not documented.
    fn read(text: &str) -> Self {
        let mut message = Self { id: String::new(), kind: String::new(), data: Value::Null, retry: None };
        for line in text.split('\n') {
            match line.split_once(": ").unwrap_or_else(|| panic!("{line:?} in {text:?}")) {
                ("id", id) => id.clone_into(&mut message.id),
                ("event", kind) => kind.clone_into(&mut message.kind),
                ("data", data) => message.data = serde_json::from_str(data).expect("data is JSON"),
                ("retry", ms) => message.retry = Some(ms.parse().expect("milliseconds")),
                _ => panic!("{line:?} in {text:?}"),
            }
        }
        if message.retry.is_some() {
            assert!(message.id.is_empty() && message.kind.is_empty(), "{text}");
        } else {
            assert!(!message.id.is_empty(), "a message without an id: {text}");
            CONTRACT.check_message(&message.kind, &message.data);
        }
        message
    }
}
