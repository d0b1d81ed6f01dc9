//! Many streams that resume at once from long ago, as when the laptops of an office wake: they take turns, receive
//! everything, and do not slow other callers.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use crate::{
    events::stream::assert_all_received,
    world::{
        Client, World,
        background_caller::{BackgroundCaller, full_scale_jobs},
    },
};

const QUEUE: &str = "past";

/// A stream from the first event on, read as it comes.
struct Stream {
    socket: TcpStream,
    unread: Vec<u8>,
}

impl Stream {
    async fn open(client: &Client) -> Self {
        let mut socket = TcpStream::connect(client.address()).await.expect("the service listens");
        let call =
            format!("GET /events?queue={QUEUE} HTTP/1.1\r\nhost: localhost\r\nlast-event-id: {QUEUE}@0-0-0\r\n\r\n");
        socket.write_all(call.as_bytes()).await.expect("open");
        Self { socket, unread: Vec::new() }
    }

    /// The data of the next event, as it was written.
    async fn next(&mut self) -> String {
        loop {
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data: ").filter(|data| data.starts_with(b"{\"")) {
                    return String::from_utf8_lossy(data).trim_end().to_owned();
                }
                assert!(!line.starts_with(b"event: gap") && !line.starts_with(b"HTTP/1.1 4"), "{line:?}");
            }
            let read = timeout(Duration::from_secs(300), self.socket.read_buf(&mut self.unread)).await;
            assert!(read.expect("a heartbeat at least").expect("open") > 0, "the stream was cut");
        }
    }

    async fn hear(mut self, n: usize) -> Vec<String> {
        let mut heard = Vec::with_capacity(n);
        while heard.len() < n {
            heard.push(self.next().await);
        }
        heard
    }
}

/// Makes events, most of them in scripts of a hundred.
async fn fill(w: &World, jobs: usize) {
    w.configure(QUEUE, json!({ "worker_limit": 0 })).await;
    for from in (0..jobs).step_by(100) {
        let job = |n| json!({ "queue": QUEUE, "payload": n, "dedupe": false });
        w.enqueue_many((from..jobs.min(from + 100)).map(job)).await;
        for held in w.reserve_all(json!({ "queues": [QUEUE], "limit": 100 })).await {
            w.complete(&held).await.is(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mass_resume_is_complete_and_slows_no_other_caller() {
    let (streams, jobs) = full_scale_jobs().map_or((300, 100), |jobs| (1_500, jobs));
    let (w, quiet) = (World::start_process().await, World::start_process().await);
    for w in [&w, &quiet] {
        fill(w, jobs).await;
    }
    let events = crate::world::keyspace::events(&w.engine, QUEUE).await.len() + 20;
    let (honest, mut readers) = (BackgroundCaller::start(&w, &quiet).await, JoinSet::new());
    let few = [Stream::open(&quiet).await, Stream::open(&quiet).await].map(|stream| stream.hear(events - 20));
    let few = tokio::spawn(join_all(few));
    let first = Stream::open(&w).await;
    for _ in 1..streams {
        let mut stream = Stream::open(&w).await;
        readers.spawn(async move {
            let mut heard = DefaultHasher::new();
            for _ in 0..events {
                stream.next().await.hash(&mut heard);
            }
            (heard.finish(), stream)
        });
    }
    let first = tokio::spawn(first.hear(events));
    // Events that happen meanwhile come after the older ones.
    w.enqueue_many((0..20).map(|n| json!({ "queue": QUEUE, "payload": ["new", n] }))).await;
    let first = first.await.expect("heard");
    let received: Vec<Value> = first.iter().map(|data| serde_json::from_str(data).expect("JSON")).collect();
    assert_all_received(&w, QUEUE, &received).await;
    let mut expected = DefaultHasher::new();
    first.iter().for_each(|event| event.hash(&mut expected));
    let heard = readers.join_all().await;
    assert!(
        heard.iter().all(|(heard, _)| *heard == expected.finish()),
        "each stream has the same events in the same order"
    );
    honest.stop().await.assert_not_much_slower(&format!("{streams} streams of {events} events"));
    few.await.expect("heard");
    w.check().await;
}
