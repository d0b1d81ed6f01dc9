//! Attempts over real TCP.

mod answers;
mod authority;
mod failures;
mod receiver;
mod tls;

use std::time::Duration;

use bytes::Bytes;
use rustls::RootCertStore;

use crate::{Attempt, Sender, Target, WebhookSecret};

/// No receiver of a test that answers takes this long.
const PATIENCE: Duration = Duration::from_secs(10);
/// For receivers that take longer than a sender waits.
const IMPATIENCE: Duration = Duration::from_millis(300);
const BODY: &[u8] = br#"{"type":"intray.test"}"#;

fn sender(timeout: Duration) -> Sender {
    Sender::trusting(RootCertStore::empty(), timeout).expect("a sender")
}

async fn post(sender: &Sender, url: &str) -> Attempt {
    let target = Target::parse(url, true).expect("a URL");
    sender.send(&target, &[WebhookSecret::random()], "msg_1", Bytes::from_static(BODY)).await
}
