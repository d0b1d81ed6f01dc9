//! Receivers that answer as a test says.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A receiver on a port of its own, until the end of the test.
pub struct Receiver {
    pub port: u16,
    connections: Arc<AtomicUsize>,
}

impl Receiver {
    /// Each connection is served by this function.
    pub async fn start<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream));
            }
        });
        Self { port, connections }
    }

    /// Answers every request with these bytes.
    pub async fn answering(answer: impl Into<String>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(move |mut stream| {
            let answer = answer.clone();
            async move {
                while request(&mut stream).await.is_some() {
                    stream.write_all(answer.as_bytes()).await?;
                }
                Ok(())
            }
        })
        .await
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/services/secret?token=secret", self.port)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// The next request, head and body. `None`: the connection is closed.
pub async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut text = String::new();
    loop {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).await.ok().filter(|count| *count > 0)?;
        text.push_str(std::str::from_utf8(&bytes[..count]).expect("UTF-8"));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        if header(head, "content-length").parse() == Ok(body.len()) {
            return Some(text);
        }
    }
}

/// A header that occurs once.
pub fn header<'a>(request: &'a str, name: &str) -> &'a str {
    let mut values = request.lines().filter_map(|line| line.split_once(": ")).filter(|(other, _)| *other == name);
    let value = values.next().unwrap_or_else(|| panic!("no {name}: {request}")).1;
    assert!(values.next().is_none(), "{name} twice: {request}");
    value
}
