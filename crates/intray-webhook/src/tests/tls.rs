//! Receivers over TLS.

use rustls::RootCertStore;
use tokio::io::AsyncWriteExt;

use super::{
    PATIENCE,
    authority::Authority,
    post,
    receiver::{Receiver, request},
};
use crate::{AttemptError, Sender};

const NOW: [i32; 2] = [2020, 2999];

async fn receiver(authority: &Authority, name: &str, years: [i32; 2]) -> Receiver {
    let server = authority.server(name, years);
    Receiver::start(move |stream| {
        let server = server.clone();
        async move {
            let mut stream = server.accept(stream).await?;
            while request(&mut stream).await.is_some() {
                stream.write_all(b"HTTP/1.1 204 x\r\n\r\n").await?;
            }
            Ok(())
        }
    })
    .await
}

async fn outcome(trusted: RootCertStore, receiver: &Receiver, host: &str) -> Result<u16, AttemptError> {
    let sender = Sender::trusting(trusted, PATIENCE).expect("a sender");
    let attempt = post(&sender, &format!("https://{host}:{}/secret", receiver.port)).await;
    attempt.status.ok_or_else(|| attempt.error.expect("a reason"))
}

#[tokio::test]
async fn trusted_certificate_of_a_name_or_an_address_is_accepted() {
    let authority = Authority::new("ours");
    for host in ["localhost", "127.0.0.1"] {
        let receiver = receiver(&authority, host, NOW).await;
        assert_eq!(outcome(authority.store(), &receiver, host).await, Ok(204), "{host}");
    }
}

#[tokio::test]
async fn certificate_is_refused_with_its_reason() {
    let authority = Authority::new("ours");
    for (name, years, error) in [
        ("localhost", [2020, 2021], AttemptError::CertificateExpired),
        ("localhost", [2998, 2999], AttemptError::CertificateNotYetValid),
        ("hooks.example", NOW, AttemptError::CertificateNotForHost),
    ] {
        let receiver = receiver(&authority, name, years).await;
        assert_eq!(outcome(authority.store(), &receiver, "localhost").await, Err(error));
    }
    let receiver = receiver(&authority, "localhost", NOW).await;
    let stranger = Authority::new("theirs").store();
    assert_eq!(outcome(stranger, &receiver, "localhost").await, Err(AttemptError::UnknownAuthority));
    let nothing = RootCertStore::empty();
    assert_eq!(outcome(nothing, &receiver, "localhost").await, Err(AttemptError::NoAuthorities));
}

#[tokio::test]
async fn receiver_without_tls_is_an_error_of_its_own() {
    let closing = Receiver::start(async |stream| stream.readable().await);
    // It answers as soon as it is connected, as servers of mail do.
    let talking = Receiver::start(async |mut stream| stream.write_all(b"220 mail.example ESMTP\r\n").await);
    assert_eq!(outcome(Authority::new("ours").store(), &talking.await, "localhost").await, Err(AttemptError::NotTls));
    assert_eq!(outcome(Authority::new("ours").store(), &closing.await, "localhost").await, Err(AttemptError::Closed));
}
