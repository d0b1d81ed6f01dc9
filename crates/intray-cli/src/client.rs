//! A client of a running service: its URL, the key to send, and the certificate authorities to trust.

use std::{io, sync::Arc, time::Duration};

use hyper::{
    Request,
    body::Body,
    client::conn::http1::{self, SendRequest},
    header,
    http::request::Builder,
};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::remote::{Remote, ServiceKey, ServiceUrl};

/// Timeout for connecting, with TLS included.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Service {
    pub url: ServiceUrl,
    key: Option<ServiceKey>,
    tls: Option<TlsConnector>,
}

impl Service {
    /// # Errors
    /// One line for the user, if the key or the certificate authorities cannot be used.
    pub fn new(remote: &Remote) -> Result<Self, String> {
        let authorities = remote.authorities()?;
        let tls = remote.url.is_tls.then(|| connector(authorities)).transpose()?;
        Ok(Self { url: remote.url.clone(), key: remote.key()?, tls })
    }

    /// A service without TLS and access control.
    #[cfg(test)]
    pub fn open(address: std::net::SocketAddr) -> Self {
        let (host, port) = (address.ip().to_string(), address.port());
        let url = ServiceUrl { is_tls: false, host, port, authority: address.to_string(), base: String::new() };
        Self { url, key: None, tls: None }
    }

    /// Opens a connection for sequential calls. It closes once it is dropped and the last answer has been read.
    ///
    /// # Errors
    /// The connection fails or times out.
    pub async fn connect<B>(&self) -> io::Result<SendRequest<B>>
    where
        B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        let connecting = async {
            let stream = TcpStream::connect((self.url.host.as_str(), self.url.port)).await?;
            match &self.tls {
                None => shake(stream).await,
                Some(tls) => {
                    let name = ServerName::try_from(self.url.host.clone()).map_err(io::Error::other)?;
                    shake(tls.connect(name, stream).await?).await
                }
            }
        };
        timeout(PATIENCE, connecting).await?
    }

    /// Starts a request, with the key if there is one.
    pub fn request(&self, method: &str, path: &str) -> Builder {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url.base))
            .header(header::HOST, &self.url.authority);
        match &self.key {
            Some(key) => request.header(header::AUTHORIZATION, format!("Bearer {}", key.expose())),
            None => request,
        }
    }
}

async fn shake<S, B>(stream: S) -> io::Result<SendRequest<B>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let (requests, wire) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // The call on this connection gets its error, so the result of the task is not needed.
    tokio::spawn(wire);
    Ok(requests)
}

fn connector(authorities: Option<&[CertificateDer<'static>]>) -> Result<TlsConnector, String> {
    let mut trusted = RootCertStore::empty();
    match authorities {
        Some(all) => drop(trusted.add_parsable_certificates(all.iter().cloned())),
        None => drop(trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if trusted.is_empty() {
        return Err("no authority is trusted to sign the service's certificate: name one by --ca-file".to_owned());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
