//! A peer that speaks HTTP/2 frame by frame: it opens no window by itself, and can disconnect in several ways.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use super::{
    Service, World,
    authority::CertificateAuthority,
    http2::{HOST_NAME, tls_handshake},
    program,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Types of frames, and flags (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const INITIAL_WINDOW_SIZE: u8 = 4;
const CANCEL: u32 = 8;
/// Bytes that a connection may send before its window is opened further.
pub const CONNECTION_WINDOW: usize = 65_535;

/// Another instance on a world's Redis, by TLS.
pub struct TlsInstance {
    service: Service,
    ca: CertificateAuthority,
}

/// The received part of an answer.
#[derive(Default)]
struct Response {
    has_head: bool,
    body: Vec<u8>,
    is_complete: bool,
}

pub struct FramePeer {
    socket: TlsStream<TcpStream>,
    next: u32,
    responses: BTreeMap<u32, Response>,
}

/// How a peer leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// Resets each stream that it has, and stays connected.
    ResetStreams,
    /// Sends GOAWAY and stays connected.
    GoAway,
    Close,
    ResetConnection,
}

impl World {
    pub async fn start_tls_instance(&self) -> TlsInstance {
        let ca = CertificateAuthority::new(self.folder(), "ours");
        let pair = ca.issue(HOST_NAME, 2099);
        let at = self.args.iter().position(|arg| arg == "--tls-cert-file");
        assert!(at.is_none(), "the first instance speaks plain HTTP");
        let mut command = program(&self.args);
        command.arg("--tls-cert-file").arg(&pair.certificate).arg("--tls-key-file").arg(&pair.key);
        TlsInstance { service: Service::start(command).await, ca }
    }
}

impl TlsInstance {
    /// A peer whose streams begin with such a window.
    pub async fn peer(&self, window: usize) -> FramePeer {
        FramePeer::open(self.service.url(), &self.ca.ca_file(), window).await
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Fields of a request (RFC 7541, appendix A: fields by their number in the static table, values as they are).
fn fields(method: &str, path: &str) -> Vec<u8> {
    let valued = |index: &[u8], value: &str| [index, &[value.len() as u8], value.as_bytes()].concat();
    let method = if method == "GET" { 0x82 } else { 0x83 };
    [vec![method, 0x87], valued(&[4], path), valued(&[1], HOST_NAME), valued(&[0x0f, 0x10], "application/json")]
        .concat()
}

impl FramePeer {
    async fn open(url: &str, authority: &Path, window: usize) -> Self {
        let socket = tls_handshake(url, authority, Some("h2")).await.expect("a handshake");
        let mut peer = Self { socket, next: 1, responses: BTreeMap::new() };
        let window = u32::try_from(window).expect("a window").to_be_bytes();
        let settings = frame(SETTINGS, 0, 0, &[&[0, INITIAL_WINDOW_SIZE], &window[..]].concat());
        peer.send(&[PREFACE, &settings].concat()).await;
        peer
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.expect("the service reads");
        self.socket.flush().await.expect("the service reads");
    }

    /// Sends a whole request; answers its stream.
    pub async fn request(&mut self, method: &str, path: &str, body: &str) -> u32 {
        let stream = self.next;
        self.next += 2;
        let ends = if body.is_empty() { END_STREAM } else { 0 };
        let mut call = frame(HEADERS, END_HEADERS | ends, stream, &fields(method, path));
        if !body.is_empty() {
            call.extend(frame(DATA, END_STREAM, stream, body.as_bytes()));
        }
        self.send(&call).await;
        stream
    }

    pub async fn reserve(&mut self, request: &Value) -> u32 {
        self.request("POST", "/jobs/reserve", &request.to_string()).await
    }

    pub async fn widen_window(&mut self, stream: u32, more: usize) {
        let more = u32::try_from(more).expect("a window").to_be_bytes();
        self.send(&frame(WINDOW_UPDATE, 0, stream, &more)).await;
    }

    /// Reads until the head of an answer is there.
    pub async fn wait_for_head(&mut self, stream: u32) {
        while !self.responses.entry(stream).or_default().has_head {
            self.read().await;
        }
    }

    /// Reads until so much of an answer's body is there.
    pub async fn wait_for_bytes(&mut self, stream: u32, many: usize) {
        while self.responses.entry(stream).or_default().body.len() < many {
            self.read().await;
        }
    }

    /// Reads a whole answer; answers its body.
    pub async fn read_body(&mut self, stream: u32) -> Vec<u8> {
        while !self.responses.entry(stream).or_default().is_complete {
            self.read().await;
        }
        self.responses.remove(&stream).expect("it was received").body
    }

    async fn read(&mut self) {
        let mut head = [0; 9];
        self.socket.read_exact(&mut head).await.expect("a frame");
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.socket.read_exact(&mut payload).await.expect("a frame");
        let (kind, flags) = (head[3], head[4]);
        let response = self.responses.entry(u32::from_be_bytes([head[5], head[6], head[7], head[8]])).or_default();
        match kind {
            HEADERS => response.has_head = true,
            DATA => response.body.extend(payload),
            RST_STREAM | GOAWAY => panic!("the service gave up: {kind} {payload:?}"),
            _ => {}
        }
        response.is_complete |= matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0;
    }

    /// Disconnects; keep the returned peer as long as it must stay connected.
    pub async fn disconnect(mut self, how: Disconnect) -> Option<Self> {
        match how {
            Disconnect::ResetStreams => {
                let resets =
                    (1..self.next).step_by(2).map(|stream| frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()));
                let resets: Vec<_> = resets.collect();
                self.send(&resets.concat()).await;
                return Some(self);
            }
            Disconnect::GoAway => {
                self.send(&frame(GOAWAY, 0, 0, &[0; 8])).await;
                return Some(self);
            }
            Disconnect::Close => {}
            Disconnect::ResetConnection => self.socket.get_ref().0.set_zero_linger().expect("a socket"),
        }
        None
    }
}
