//! An HTTP/2 client over TLS that controls each stream.

use std::{fs, path::Path, sync::Arc};

use bytes::Bytes;
use h2::{
    SendStream,
    client::{Builder, ResponseFuture, SendRequest},
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{net::TcpStream, task::JoinHandle};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// The name that a story's service has in its certificate.
pub const HOST_NAME: &str = "localhost";

const JSON: (&str, &str) = ("content-type", "application/json");

/// A connection and, when it has ended, why.
pub struct Http2Client {
    send: SendRequest<Bytes>,
    ended: JoinHandle<Result<(), h2::Error>>,
}

/// A call on its way. Dropped, its stream is reset.
pub struct Http2Call {
    response: ResponseFuture,
    stream: SendStream<Bytes>,
}

/// A handshake with a service that this authority vouches for. No protocol: none is agreed on.
pub async fn tls_handshake(
    url: &str,
    authority: &Path,
    protocol: Option<&str>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let text = fs::read(authority).expect("an authority");
    roots.add(CertificateDer::from_pem_slice(&text).expect("a certificate")).expect("an authority");
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocol.map(|name| name.as_bytes().to_vec()).into_iter().collect();
    let stream = TcpStream::connect(url.trim_start_matches("https://")).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(HOST_NAME).expect("a name"), stream).await
}

impl Http2Client {
    pub async fn open(url: &str, authority: &Path) -> Self {
        Self::open_with(url, authority, &Builder::new()).await
    }

    /// The same with settings of its own.
    pub async fn open_with(url: &str, authority: &Path, settings: &Builder) -> Self {
        let stream = tls_handshake(url, authority, Some("h2")).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (send, connection) = settings.handshake(stream).await.expect("HTTP/2");
        Self { send, ended: tokio::spawn(connection) }
    }

    /// The stream limit that the service announced.
    pub fn max_streams(&self) -> usize {
        self.send.current_max_send_streams()
    }

    pub fn is_closed(&self) -> bool {
        self.ended.is_finished()
    }

    /// Sends a request; `None` when the connection takes no more.
    pub async fn try_request(
        &self,
        method: &str,
        path: &str,
        body: &str,
        field: Option<(&str, &str)>,
    ) -> Option<Http2Call> {
        let fields: Vec<_> = (!body.is_empty()).then_some(JSON).into_iter().chain(field).collect();
        let mut call = self.head(method, path, &fields, body.is_empty()).await?;
        if !body.is_empty() {
            call.send(body).ok()?;
        }
        Some(call)
    }

    /// Sends the head of a request whose body comes later.
    pub async fn start_request(&self, method: &str, path: &str) -> Http2Call {
        self.head(method, path, &[JSON], false).await.expect("the connection is there")
    }

    /// The same of a body of lines, each of which is answered.
    pub async fn start_lines(&self) -> LineStream {
        let fields = [("content-type", "application/x-ndjson")];
        let call = self.head("POST", "/jobs?answers=all", &fields, false).await.expect("the connection is there");
        LineStream { send: call.stream, response: Some(call.response), next_line: None }
    }

    async fn head(&self, method: &str, path: &str, fields: &[(&str, &str)], is_all: bool) -> Option<Http2Call> {
        let mut send = self.send.clone().ready().await.ok()?;
        let mut request = axum::http::Request::builder()
            .method(method)
            .uri(format!("https://{HOST_NAME}{path}"))
            .version(axum::http::Version::HTTP_2);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (response, stream) = send.send_request(request.body(()).expect("a request"), is_all).ok()?;
        Some(Http2Call { response, stream })
    }

    pub async fn request(&self, method: &str, path: &str, body: &str) -> Http2Call {
        self.try_request(method, path, body, None).await.expect("the connection is there")
    }

    pub async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, text) = self.request("POST", path, &body.to_string()).await.answer().await;
        (status, serde_json::from_str(&text).expect("JSON"))
    }
}

/// An NDJSON call whose lines are sent and answered in turn.
pub struct LineStream {
    send: SendStream<Bytes>,
    response: Option<ResponseFuture>,
    next_line: Option<h2::RecvStream>,
}

impl LineStream {
    pub fn writer(&mut self, line: &Value) {
        self.send.send_data(format!("{line}\n").into(), false).expect("room");
    }

    pub fn finish(&mut self) {
        self.send.send_data(Bytes::new(), true).expect("room");
    }

    /// The next line of the answer.
    pub async fn reader(&mut self) -> Value {
        if let Some(response) = self.response.take() {
            let response = response.await.expect("an answer");
            assert_eq!(response.status(), 200);
            self.next_line = Some(response.into_body());
        }
        let body = self.next_line.as_mut().expect("a body");
        let line = body.data().await.expect("a line").expect("a line");
        body.flow_control().release_capacity(line.len()).expect("it was taken");
        serde_json::from_slice(&line).expect("JSON")
    }
}

impl Http2Call {
    /// The body, all of it.
    pub fn send(&mut self, body: &str) -> Result<(), h2::Error> {
        self.stream.send_data(Bytes::copy_from_slice(body.as_bytes()), true)
    }

    pub async fn answer(self) -> (u16, String) {
        let response = self.response.await.expect("an answer");
        let (status, mut body) = (response.status().as_u16(), response.into_body());
        let mut text = Vec::new();
        while let Some(data) = body.data().await {
            let data = data.expect("all of it");
            let _ = body.flow_control().release_capacity(data.len());
            text.extend(data);
        }
        (status, String::from_utf8(text).expect("text"))
    }

    /// The head of the answer; its body is left where it is.
    pub async fn head(self) -> axum::http::Response<h2::RecvStream> {
        self.try_head().await.expect("an answer")
    }

    pub async fn try_head(self) -> Result<axum::http::Response<h2::RecvStream>, h2::Error> {
        self.response.await
    }

    /// Gives it up.
    pub fn reset(mut self) {
        self.stream.send_reset(h2::Reason::CANCEL);
    }
}
