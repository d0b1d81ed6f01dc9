//! A proxy in front of Redis that patches scripts, so that mutants need no hook in the program. It reports that it has no
//! functions, so the program sends scripts; a patched one has another digest, so Redis never knows the requested digest and the
//! program sends the text each time.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream, unix::OwnedReadHalf, unix::OwnedWriteHalf},
};

/// A text of the scripts and its replacement.
#[derive(Debug, Clone, Copy)]
pub struct Edit {
    pub from: &'static str,
    pub to: &'static str,
}

pub struct Editor {
    pub socket: PathBuf,
    edits: Arc<[ScriptPatch]>,
}

struct ScriptPatch {
    edit: Edit,
    /// Some script contained the text.
    is_met: AtomicBool,
}

impl Editor {
    pub fn start(folder: &Path, server: PathBuf, edits: &[Edit]) -> Self {
        let socket = folder.join("editor.sock");
        let listener = UnixListener::bind(&socket).expect("a socket for the editor");
        let patches = |&edit: &Edit| ScriptPatch { edit, is_met: AtomicBool::new(false) };
        let edits: Arc<[_]> = edits.iter().map(patches).collect();
        let patches = edits.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server.clone(), patches.clone()));
            }
        });
        Self { socket, edits }
    }

    /// Each text was found in some script.
    pub fn has_edited(&self) -> bool {
        self.edits.iter().all(|patches| patches.is_met.load(Ordering::Relaxed))
    }
}

async fn carry(client: UnixStream, server: PathBuf, edits: Arc<[ScriptPatch]>) {
    let Ok(server) = UnixStream::connect(server).await else { return };
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, to_server) = server.into_split();
    tokio::select! {
        () = edited(from_client, to_server, &edits) => {}
        _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
    }
}

async fn edited(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, edits: &[ScriptPatch]) {
    let mut buffer = Vec::new();
    while let Ok(1..) = from.read_buf(&mut buffer).await {
        let mut out = Vec::new();
        while let Some((mut words, length)) = command(&buffer) {
            buffer.drain(..length);
            if words.first().is_some_and(|word| word == b"FCALL" || word == b"FUNCTION") {
                // The server then answers with an error of its own, in order.
                words = vec![b"NO_FUNCTIONS".to_vec()];
            }
            if words.first().is_some_and(|word| word == b"EVAL") {
                let mut script = String::from_utf8_lossy(&words[1]).into_owned();
                for ScriptPatch { edit, is_met } in edits {
                    is_met.fetch_or(script.contains(edit.from), Ordering::Relaxed);
                    script = script.replace(edit.from, edit.to);
                }
                words[1] = script.into_bytes();
            }
            out.extend(packed(&words));
        }
        if to.write_all(&out).await.is_err() {
            return;
        }
    }
}

/// A command as it is sent.
pub fn packed(words: &[Vec<u8>]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend(format!("${}\r\n", word.len()).bytes());
        out.extend(word);
        out.extend(b"\r\n");
    }
    out
}

/// The first command in the buffer and its length; `None` when it is not all there.
pub fn command(buffer: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let (count, mut at) = number(buffer, 0, b'*')?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, start) = number(buffer, at, b'$')?;
        words.push(buffer.get(start..start + length)?.to_vec());
        at = start + length + 2;
    }
    (at <= buffer.len()).then_some((words, at))
}

/// A line of the protocol that holds a number, and where the next begins.
fn number(buffer: &[u8], at: usize, mark: u8) -> Option<(usize, usize)> {
    let line = buffer.get(at..)?;
    let end = line.iter().position(|&byte| byte == b'\r').filter(|end| line.len() > end + 1)?;
    assert_eq!(line[0], mark, "a command is an array of strings");
    Some((std::str::from_utf8(&line[1..end]).ok()?.parse().ok()?, at + end + 2))
}
