//! A reserve whose caller may disconnect before the answer.

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::http::Client;

/// A reserve on its own connection; closes it when dropped.
pub struct PendingReserve(TcpStream);

impl PendingReserve {
    /// Asks for work.
    pub async fn send(client: &Client, request: &Value) -> Self {
        let mut socket = TcpStream::connect(client.address()).await.expect("the service listens");
        let body = request.to_string();
        let head = "POST /jobs/reserve HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        let call = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        socket.write_all(call.as_bytes()).await.expect("the service reads");
        Self(socket)
    }

    /// Disconnects; answers what the service had sent before it noticed, which shows whether the answer was delivered.
    pub async fn hang_up(mut self) -> Option<Value> {
        let mut received = Vec::new();
        let _ = self.0.shutdown().await;
        let _ = self.0.read_to_end(&mut received).await;
        let text = String::from_utf8(received).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n")?;
        assert!(head.starts_with("HTTP/1.1 200"), "{text}");
        Some(serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {text}")))
    }
}
