//! Calls of a running service.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{
    Request, StatusCode,
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::words::clean;
use crate::config::{ServiceKey, ServiceUrl, Top};

/// For a connection, and for each answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A page of a thousand queues has one.
const ANSWER_BYTES: usize = 16 << 20;

/// Where it is, and what it is shown.
pub(super) struct Service {
    pub(super) url: ServiceUrl,
    key: Option<ServiceKey>,
    tls: Option<TlsConnector>,
}

/// A connection, for the calls of one look.
pub(super) struct Talk<'s> {
    service: &'s Service,
    requests: SendRequest<Empty<Bytes>>,
    /// What carries the bytes; it ends with this.
    _wire: JoinSet<()>,
}

/// Of a refusal, what is said for people.
#[derive(Deserialize)]
struct Refusal {
    detail: String,
}

impl Service {
    pub(super) fn new(options: &Top) -> Result<Self, String> {
        let authorities = options.authorities()?;
        let tls = options.url.is_tls.then(|| connector(authorities)).transpose()?;
        Ok(Self { url: options.url.clone(), key: options.key()?, tls })
    }

    pub(super) async fn talk(&self) -> Result<Talk<'_>, String> {
        let (place, url) = ((self.url.host.as_str(), self.url.port), &self.url);
        let connecting = async {
            let stream = TcpStream::connect(place).await?;
            match &self.tls {
                None => shake(stream).await,
                Some(tls) => {
                    let name = ServerName::try_from(url.host.clone()).map_err(io::Error::other)?;
                    shake(tls.connect(name, stream).await?).await
                }
            }
        };
        match timeout(PATIENCE, connecting).await {
            Ok(Ok((requests, wire))) => Ok(Talk { service: self, requests, _wire: wire }),
            Ok(Err(error)) => Err(format!("no answer from {url}: {error}")),
            Err(_) => Err(format!("no answer from {url} in time")),
        }
    }
}

async fn shake<S>(stream: S) -> io::Result<(SendRequest<Empty<Bytes>>, JoinSet<()>)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (requests, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let mut wire = JoinSet::new();
    // How it ends, the call that it was for is told.
    wire.spawn(async move { drop(connection.await) });
    Ok((requests, wire))
}

fn connector(authorities: Option<&str>) -> Result<TlsConnector, String> {
    let mut trusted = RootCertStore::empty();
    match authorities {
        Some(pem) => CertificateDer::pem_slice_iter(pem.as_bytes()).flatten().for_each(|one| drop(trusted.add(one))),
        None => drop(trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if trusted.is_empty() {
        return Err("nobody is trusted to have signed the service's certificate: name them by --ca-file".to_owned());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

impl Talk<'_> {
    /// What stands at a path.
    pub(super) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, String> {
        let url = &self.service.url;
        match timeout(PATIENCE, self.exchange(path)).await {
            Ok(Ok((StatusCode::OK, body))) => {
                serde_json::from_slice(&body).map_err(|_| format!("{url} is no service that this program knows"))
            }
            Ok(Ok((status, body))) => {
                let said = serde_json::from_slice::<Refusal>(&body).map(|refusal| clean(&refusal.detail));
                Err(format!("{url} answered {status}: {}", said.as_deref().unwrap_or("it is none of intray's answers")))
            }
            Ok(Err(error)) => Err(format!("no answer from {url}: {error}")),
            Err(_) => Err(format!("no answer from {url} in time")),
        }
    }

    async fn exchange(&mut self, path: &str) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let Service { url, key, .. } = self.service;
        let mut request = Request::get(format!("{}{path}", url.base)).header(header::HOST, &url.authority);
        if let Some(key) = key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", key.expose()));
        }
        let answer = self.requests.send_request(request.body(Empty::new())?).await?;
        let (head, body) = answer.into_parts();
        Ok((head.status, Limited::new(body, ANSWER_BYTES).collect().await?.to_bytes()))
    }
}

#[cfg(test)]
mod tests;
