//! Runs every script on two servers: as it is on the first, as an older program has it on the second. Both must give the same reply and
//! leave the same keys after each call, except where `allowed` says otherwise.

mod allowed;
mod call;
mod reply;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use redis::{Connection, Value};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

pub use self::allowed::Allowances;
use self::{call::Call, reply::Reply};
use crate::{
    fixtures::Verdict,
    library::{self, Library, ScriptKeys},
    patch_scripts::{self, Edit},
};

pub struct Mirror {
    pub socket: PathBuf,
    state: Arc<Mutex<State>>,
}

/// Over all connections.
struct State {
    difference: Option<String>,
    /// Calls of scripts.
    calls: u64,
    /// Those of the scripts that only read.
    views: BTreeSet<Vec<u8>>,
    keys: ScriptKeys,
    ours: Connection,
    theirs: Connection,
}

/// One client's connection to both servers.
struct Servers {
    ours: Server,
    theirs: Server,
    edits: Vec<Edit>,
    other: Arc<Library>,
}

struct Server {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Mirror {
    /// `edits` are made in the scripts of the first server only; the second runs those of `other`.
    pub fn start(folder: &Path, ours: PathBuf, theirs: PathBuf, edits: &[Edit], other: &Arc<Library>) -> Self {
        let socket = folder.join("mirror.sock");
        let listener = UnixListener::bind(&socket).expect("a socket for the mirror");
        let state = State {
            difference: None,
            calls: 0,
            views: BTreeSet::new(),
            keys: ScriptKeys::new(),
            ours: connect(&ours),
            theirs: connect(&theirs),
        };
        let (state, edits, other) = (Arc::new(Mutex::new(state)), edits.to_vec(), other.clone());
        let shared = state.clone();
        tokio::spawn(async move {
            // One script at a time over all connections, so that both servers run them in one order.
            let order = Arc::new(tokio::sync::Mutex::new(()));
            while let Ok((client, _)) = listener.accept().await {
                let (ours, theirs) = (Server::connect(&ours).await, Server::connect(&theirs).await);
                let servers = Servers { ours, theirs, edits: edits.clone(), other: other.clone() };
                tokio::spawn(serve(client, servers, shared.clone(), order.clone()));
            }
        });
        Self { socket, state }
    }

    /// The first difference so far.
    pub fn verdict(&self) -> Verdict {
        self.state().difference.take().map_or(Ok(()), Err)
    }

    /// How many calls were compared since it was last asked.
    pub fn calls(&self) -> u64 {
        std::mem::take(&mut self.state().calls)
    }

    fn state(&self) -> MutexGuard<'_, State> {
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
        match (words[0].as_slice(), words.get(1).map(Vec::as_slice)) {
            (b"FUNCTION", Some(b"LOAD")) => self.load(words, state).await,
            (b"FCALL", Some(_)) => self.call(words, state).await,
            _ => self.ours.call(words).await,
        }
    }

    async fn load(&mut self, words: &[Vec<u8>], state: &Mutex<State>) -> Vec<u8> {
        let theirs = self.other.code.clone().into_bytes();
        let loaded = self.theirs.call(&[words[0].clone(), words[1].clone(), b"REPLACE".to_vec(), theirs]).await;
        assert_eq!(loaded[0], b'$', "{}", String::from_utf8_lossy(&loaded));
        let code = String::from_utf8_lossy(&words[2]);
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.views, state.keys) = (views(&code), library::keys_of(&code));
        }
        self.ours.call(&[words[0].clone(), words[1].clone(), patched(&words[2], &self.edits)]).await
    }

    /// Calls a function of both, which the second server may know by another name.
    async fn call(&mut self, words: &[Vec<u8>], state: &Mutex<State>) -> Vec<u8> {
        let raw = self.ours.call(words).await;
        if raw.starts_with(b"-ERR Function not found") {
            return raw;
        }
        let call = Call::of(words);
        let same = {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            call.for_other(words, &self.other, &state.keys)
        };
        let theirs = self.theirs.call(&same).await;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_view = state.views.contains(&words[1]);
        let (mut ours, mut theirs) = (Reply::parse(&raw, is_view), Reply::parse(&theirs, is_view));
        state.calls += 1;
        if state.difference.is_none() {
            let found = state.compare(&call, &mut ours, &mut theirs, &self.other.allowed).and_then(|()| {
                // Redis does not let a view write.
                if is_view { Ok(()) } else { state.compare_keys() }
            });
            state.difference = found.err().map(|what| format!("{}\n  {}", what, spelled(words)));
        }
        raw
    }
}

impl State {
    fn compare(&mut self, call: &Call, ours: &mut Reply, theirs: &mut Reply, allowed: &Allowances) -> Verdict {
        let copied = allowed.copied(&call.script, &call.words, &ours.items);
        allowed.adapt(&call.script, &call.words, ours, theirs);
        if !ours.is_same(theirs, allowed.fast_paths()) {
            return Err(report("the reply", ours, theirs));
        }
        copied.into_iter().try_for_each(|key| self.copy_keys(key))
    }

    /// Gives the second server the keys of one kind, or all, as they are on the first.
    fn copy_keys(&mut self, kind: Option<&str>) -> Verdict {
        let pattern = kind.map_or_else(|| "*".to_owned(), |kind| format!("*:{kind}"));
        let names = |of: &mut Connection| redis::cmd("KEYS").arg(&pattern).query::<Vec<String>>(of).map_err(broken);
        for name in names(&mut self.theirs)? {
            redis::cmd("DEL").arg(&name).exec(&mut self.theirs).map_err(broken)?;
        }
        for name in names(&mut self.ours)? {
            let content: Vec<u8> = redis::cmd("DUMP").arg(&name).query(&mut self.ours).map_err(broken)?;
            redis::cmd("RESTORE").arg(&name).arg(0).arg(content).exec(&mut self.theirs).map_err(broken)?;
        }
        Ok(())
    }

    /// Every key of both servers, with its content. Nearly always the digest of all keys says enough.
    fn compare_keys(&mut self) -> Verdict {
        let digest = |of: &mut Connection| redis::cmd("DEBUG").arg("DIGEST").query::<String>(of).map_err(broken);
        if digest(&mut self.ours)? == digest(&mut self.theirs)? {
            return Ok(());
        }
        let (ours, theirs) = (dump(&mut self.ours)?, dump(&mut self.theirs)?);
        let names: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        let differing = names.into_iter().find(|name| ours.get(*name) != theirs.get(*name));
        differing.map_or(Ok(()), |name| Err(report(&format!("the key {name}"), &ours.get(name), &theirs.get(name))))
    }
}

fn broken(error: redis::RedisError) -> String {
    format!("Redis: {error}")
}

fn report<T: Debug + ?Sized>(what: &str, ours: &T, theirs: &T) -> String {
    format!("{what}\n  on the first server: {ours:?}\n  on the second: {theirs:?}")
}

/// A call, for a report.
fn spelled(words: &[Vec<u8>]) -> String {
    words.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join(" ")
}

/// The functions of a library that only read.
fn views(code: &str) -> BTreeSet<Vec<u8>> {
    let names = code.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("redis.register_function{function_name = '")?.split_once('\'')?;
        rest.contains("'no-writes'").then(|| name.as_bytes().to_vec())
    });
    names.collect()
}

fn patched(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text).into_owned();
    edits.iter().fold(text, |text, Edit { from, to }| text.replace(from, to)).into_bytes()
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
    let names: Vec<String> = redis::cmd("KEYS").arg("*").query(connection).map_err(broken)?;
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut kinds = redis::pipe();
    names.iter().for_each(|name| _ = kinds.cmd("TYPE").arg(name));
    let kinds: Vec<String> = kinds.query(connection).map_err(broken)?;
    let mut contents = redis::pipe();
    for (name, kind) in names.iter().zip(&kinds) {
        match kind.as_str() {
            "hash" => contents.cmd("HGETALL").arg(name),
            "zset" => contents.cmd("ZRANGE").arg(name).arg("0").arg("-1").arg("WITHSCORES"),
            "stream" => contents.cmd("XRANGE").arg(name).arg("-").arg("+"),
            _ => contents.cmd("GET").arg(name),
        };
    }
    let contents: Vec<Value> = contents.query(connection).map_err(broken)?;
    let ordered =
        |(kind, content): (String, Value)| if kind == "hash" { reply::sorted_pairs(content) } else { content };
    Ok(names.into_iter().zip(kinds.into_iter().zip(contents).map(ordered)).collect())
}

fn connect(socket: &Path) -> Connection {
    let client = redis::Client::open(format!("unix://{}", socket.display()));
    client.and_then(|client| client.get_connection()).expect("a connection")
}
