//! Runs every script on two servers: as it is on the first, without its fast path on the second. Both must give the same reply and
//! leave the same keys.

mod reply;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use redis::{Connection, Value};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use self::reply::Reply;
use crate::{
    fixtures::Verdict,
    patch_scripts::{self, Edit, NO_FAST_PATH},
};

pub struct Mirror {
    pub socket: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    difference: Option<String>,
    /// By the total that they count.
    fast_replies: BTreeMap<String, u64>,
}

/// One client's connection to both servers.
struct Servers {
    fast: Server,
    full: Server,
    edits: Vec<Edit>,
}

struct Server {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Mirror {
    /// `edits` are made in the scripts of the first server only.
    pub fn start(folder: &Path, fast: PathBuf, full: PathBuf, edits: &[Edit]) -> Self {
        let socket = folder.join("mirror.sock");
        let listener = UnixListener::bind(&socket).expect("a socket for the mirror");
        let (state, edits) = (Arc::new(Mutex::new(State::default())), edits.to_vec());
        let shared = state.clone();
        tokio::spawn(async move {
            // One script at a time over all connections, so that both servers run them in one order.
            let order = Arc::new(tokio::sync::Mutex::new(()));
            while let Ok((client, _)) = listener.accept().await {
                let (fast, full) = (Server::connect(&fast).await, Server::connect(&full).await);
                let servers = Servers { fast, full, edits: edits.clone() };
                tokio::spawn(serve(client, servers, shared.clone(), order.clone()));
            }
        });
        Self { socket, state }
    }

    /// The first difference between the replies so far, or between the keys now.
    pub fn compare(&self, fast: &mut Connection, full: &mut Connection) -> Verdict {
        if let Some(difference) = self.state().difference.take() {
            return Err(difference);
        }
        let (fast, full) = (dump(fast)?, dump(full)?);
        let names: BTreeSet<_> = fast.keys().chain(full.keys()).collect();
        let differing = names.into_iter().find(|name| fast.get(*name) != full.get(*name));
        let report = |name: &String| {
            format!(
                "the key {name}\n  by the fast path: {:?}\n  by the full path: {:?}",
                fast.get(name),
                full.get(name)
            )
        };
        differing.map_or(Ok(()), |name| Err(report(name)))
    }

    /// How many replies came from a fast path since it was last asked.
    pub fn fast_replies(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.state().fast_replies)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(
    mut client: UnixStream,
    mut servers: Servers,
    state: Arc<Mutex<State>>,
    order: Arc<tokio::sync::Mutex<()>>,
) {
    let mut buffer = Vec::new();
    while let Ok(1..) = client.read_buf(&mut buffer).await {
        while let Some((words, length)) = patch_scripts::command(&buffer) {
            buffer.drain(..length);
            let reply = {
                let _one = order.lock().await;
                servers.run(&words, &state).await
            };
            if client.write_all(&reply).await.is_err() {
                return;
            }
        }
    }
}

impl Servers {
    async fn run(&mut self, words: &[Vec<u8>], state: &Mutex<State>) -> Vec<u8> {
        match words[0].as_slice() {
            // The mirror needs the text of each script.
            b"FCALL" | b"FUNCTION" => self.fast.call(&[b"NO_FUNCTIONS".to_vec()]).await,
            b"EVALSHA" => b"-NOSCRIPT the mirror keeps none\r\n".to_vec(),
            b"EVAL" => self.run_script(words, state).await,
            _ => self.fast.call(words).await,
        }
    }

    async fn run_script(&mut self, words: &[Vec<u8>], state: &Mutex<State>) -> Vec<u8> {
        let fast = self.fast.call(&patched(words, &self.edits)).await;
        let full = self.full.call(&patched(words, &[NO_FAST_PATH])).await;
        let is_view = words[1].starts_with(b"#!lua flags=no-writes");
        let (ours, theirs) = (Reply::parse(&fast, is_view), Reply::parse(&full, is_view));
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(total) = ours.fast_total() {
            *state.fast_replies.entry(total.to_owned()).or_default() += 1;
        }
        if !ours.is_same(&theirs) && state.difference.is_none() {
            state.difference =
                Some(format!("the replies\n  by the fast path: {ours:?}\n  by the full path: {theirs:?}"));
        }
        fast
    }
}

fn patched(words: &[Vec<u8>], edits: &[Edit]) -> Vec<Vec<u8>> {
    let mut words = words.to_vec();
    let mut text = String::from_utf8_lossy(&words[1]).into_owned();
    for Edit { from, to } in edits {
        text = text.replace(from, to);
    }
    words[1] = text.into_bytes();
    words
}

impl Server {
    async fn connect(socket: &Path) -> Self {
        Self { stream: UnixStream::connect(socket).await.expect("a server"), buffer: Vec::new() }
    }

    /// The reply, as it came.
    async fn call(&mut self, words: &[Vec<u8>]) -> Vec<u8> {
        self.stream.write_all(&patch_scripts::packed(words)).await.expect("a server that reads");
        loop {
            if let Some(length) = reply::length(&self.buffer) {
                return self.buffer.drain(..length).collect();
            }
            let read = self.stream.read_buf(&mut self.buffer).await.expect("a server that replies");
            assert!(read > 0, "a server has closed its connection");
        }
    }
}

/// Every key with its content.
fn dump(connection: &mut Connection) -> Result<BTreeMap<String, Value>, String> {
    let query = |connection: &mut Connection, words: &[&str]| {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query(connection).map_err(|e| format!("Redis: {e}"))
    };
    let names: Value = query(connection, &["KEYS", "*"])?;
    let names: Vec<String> = redis::from_redis_value(names).map_err(|e| format!("Redis: {e}"))?;
    let mut keys = BTreeMap::new();
    for name in names {
        let kind: Value = query(connection, &["TYPE", &name])?;
        let content = match redis::from_redis_value::<String>(kind).unwrap_or_default().as_str() {
            "hash" => reply::sorted_pairs(query(connection, &["HGETALL", &name])?),
            "zset" => query(connection, &["ZRANGE", &name, "0", "-1", "WITHSCORES"])?,
            "stream" => query(connection, &["XRANGE", &name, "-", "+"])?,
            _ => query(connection, &["GET", &name])?,
        };
        keys.insert(name, content);
    }
    Ok(keys)
}
