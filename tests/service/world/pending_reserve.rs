//! A page that may be gone before its answer is there.

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::http::Client;

/// A call on a connection of its own. Who drops it has closed the page.
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

    /// Hangs up, and says what had been sent before the other end saw it: nobody can tell otherwise what was delivered.
    pub async fn hang_up(mut self) -> Option<Value> {
        let mut heard = Vec::new();
        let _ = self.0.shutdown().await;
        let _ = self.0.read_to_end(&mut heard).await;
        let text = String::from_utf8(heard).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n")?;
        assert!(head.starts_with("HTTP/1.1 200"), "{text}");
        Some(serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {text}")))
    }
}
