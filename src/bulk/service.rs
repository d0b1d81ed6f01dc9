//! A service, called as anybody calls it: each call on a connection of its own, which goes with its answer.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, anyhow};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::config::{Remote, ServiceUrl};

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// More of a refusal is not read.
const REFUSAL: usize = 64 << 10;

pub struct Service {
    url: ServiceUrl,
    credential: Option<String>,
    tls: Option<TlsConnector>,
}

/// What a problem says.
#[derive(Debug, Deserialize)]
pub struct Refusal {
    pub status: u16,
    pub detail: String,
}

impl Refusal {
    pub fn of_a_file(error: &std::io::Error) -> Self {
        Self { status: 400, detail: error.to_string() }
    }

    /// It may be otherwise in a while.
    pub fn passes(&self) -> bool {
        matches!(self.status, 408 | 429 | 502..=504 | 507)
    }
}

impl Service {
    /// # Errors
    /// One line for whoever has called.
    pub fn new(remote: &Remote) -> anyhow::Result<Self> {
        let credential = remote.credential().map_err(anyhow::Error::msg)?;
        let tls = remote.url.is_tls.then(|| connector(remote.authorities())).transpose()?;
        Ok(Self { url: remote.url.clone(), credential, tls })
    }

    /// The answer, whatever it is, with its body unread.
    ///
    /// # Errors
    /// When there is none.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> anyhow::Result<Response<Incoming>> {
        let ServiceUrl { authority, base, .. } = &self.url;
        let mut request =
            Request::builder().method(method).uri(format!("{base}{path}")).header(header::HOST, authority.as_str());
        if let Some(credential) = &self.credential {
            request = request.header(header::AUTHORIZATION, format!("Bearer {credential}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body))?;
        let answer = self.connected(request).await;
        answer.with_context(|| format!("no answer from {}", self.url))
    }

    async fn connected(&self, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
        let (host, port) = self.place()?;
        let connect = TcpStream::connect((host.trim_matches(['[', ']']), port));
        let stream = timeout(CONNECT_TIME, connect).await.context("it does not accept")??;
        let Some(tls) = &self.tls else { return exchange(stream, request).await };
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let stream = timeout(CONNECT_TIME, tls.connect(name, stream)).await.context("no handshake")??;
        exchange(stream, request).await
    }

    fn place(&self) -> anyhow::Result<(&str, u16)> {
        let ServiceUrl { authority, is_tls, .. } = &self.url;
        match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some((host, port)) => Ok((host, port.parse().map_err(|_| anyhow!("{port} is no port"))?)),
            None => Ok((authority, if *is_tls { 443 } else { 80 })),
        }
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<Response<Incoming>> {
    let (mut calls, talk) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the body of the answer; what became of it, the reader of that sees.
    tokio::spawn(talk);
    Ok(calls.send_request(request).await?)
}

/// Why an answer is no good one.
pub async fn refusal(answer: Response<Incoming>) -> Refusal {
    let status = answer.status().as_u16();
    let body = http_body_util::Limited::new(answer.into_body(), REFUSAL).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    serde_json::from_slice(&body).unwrap_or_else(|_| Refusal { status, detail: format!("it answered {status}") })
}

fn connector(authorities: Option<&str>) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(text) => {
            for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
                roots.add(certificate.context("a certificate")?)?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
