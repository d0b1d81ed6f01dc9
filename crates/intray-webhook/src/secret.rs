//! Secrets, and signatures by them.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::hmac;
use thiserror::Error;

/// What a secret begins with, so that scanners recognize a leaked one.
const PREFIX: &str = "whsec_";
/// The bytes of a secret (Standard Webhooks 1.0, "Signature scheme").
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// The bytes of a new secret.
const NEW_SECRET_BYTES: usize = 32;

/// A secret that a service and its receiver share. Only [`WebhookSecret::expose`] shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SecretError {
    #[error("must begin with whsec_")]
    Prefix,
    #[error("must be base64 with its padding after whsec_")]
    Base64,
    #[error("must be of 24 to 64 bytes, which base64 writes in 32 to 88 characters")]
    Length,
}

impl WebhookSecret {
    /// Parses `whsec_` and base64.
    ///
    /// # Errors
    /// The rule that the text breaks. It never quotes the text.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let encoded = text.strip_prefix(PREFIX).ok_or(SecretError::Prefix)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| SecretError::Base64)?;
        if SECRET_BYTES.contains(&bytes.len()) { Ok(Self(bytes)) } else { Err(SecretError::Length) }
    }

    /// Makes a secret of 256 random bits.
    ///
    /// # Panics
    /// When the operating system has no randomness.
    pub fn random() -> Self {
        let mut bytes = vec![0; NEW_SECRET_BYTES];
        getrandom::fill(&mut bytes).expect("the operating system has randomness");
        Self(bytes)
    }

    /// Returns the text, only to be given to an operator once.
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// The value of `webhook-signature`: a signature by each secret, with a space between, so that a secret can be rotated.
pub fn sign(secrets: &[WebhookSecret], id: &str, unix_seconds: u64, body: &[u8]) -> String {
    let head = format!("{id}.{unix_seconds}.");
    let signed = secrets.iter().map(|secret| {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &secret.0));
        context.update(head.as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    });
    signed.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: usize) -> String {
        format!("{PREFIX}{}", STANDARD.encode(vec![7; bytes]))
    }

    /// The vector of the reference libraries: <https://github.com/standard-webhooks/standard-webhooks>, `libraries/rust`.
    #[test]
    fn signature_equals_that_of_the_reference_libraries() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let one = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let body = br#"{"test": 2432232314}"#;
        assert_eq!(sign(std::slice::from_ref(&secret), id, 1_614_265_330, body), one);
        let other = WebhookSecret::random();
        let both = sign(&[secret.clone(), other.clone()], id, 1_614_265_330, body);
        assert_eq!(both, format!("{one} {}", sign(&[other], id, 1_614_265_330, body)));
        assert_ne!(sign(&[secret], id, 1_614_265_331, body), one);
    }

    #[test]
    fn secret_of_24_to_64_bytes_in_base64_is_accepted() {
        for bytes in [24, 25, 32, 64] {
            let text = encoded(bytes);
            assert_eq!(WebhookSecret::parse(&text).expect("a secret").expose(), text);
        }
        for (text, error) in [
            (encoded(23), SecretError::Length),
            (encoded(65), SecretError::Length),
            (PREFIX.to_owned(), SecretError::Length),
            (encoded(24).replace(PREFIX, ""), SecretError::Prefix),
            (encoded(24).to_uppercase(), SecretError::Prefix),
            (encoded(25).replace('=', ""), SecretError::Base64),
            (encoded(24).replace("Bw", "--"), SecretError::Base64),
            (format!("{}é", encoded(24)), SecretError::Base64),
        ] {
            assert_eq!(WebhookSecret::parse(&text), Err(error), "{text}");
        }
    }

    #[test]
    fn random_secret_is_parsed_and_never_printed() {
        let (one, other) = (WebhookSecret::random(), WebhookSecret::random());
        assert_ne!(one, other);
        assert_eq!(WebhookSecret::parse(&one.expose()), Ok(one.clone()));
        assert_eq!(format!("{one:?}"), "WebhookSecret(…)");
    }
}
