//! Keys and tokens for the tests.

use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub const SECRET: &str = "a secret that only the stories know";

/// The key of that name.
pub fn key(name: &str) -> String {
    format!("key-of-{name}")
}

/// Its line in a keys file.
pub fn keys_file_line(name: &str, role: &str, pattern: &str) -> String {
    let hash: String = Sha256::digest(key(name)).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {role} {pattern} {hash}")
}

/// Claims of a valid token for `ann`, with changes; `null` removes a claim.
pub fn claims(but: Value) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let mut claims =
        json!({ "iss": "intray", "sub": "ann", "aud": "intray", "exp": now + 600, "queues": ["default", "reviews*"] });
    for (name, value) in but.as_object().expect("claims") {
        claims[name] = value.clone();
    }
    claims.as_object_mut().expect("claims").retain(|_, value| !value.is_null());
    claims
}

/// Signed by a secret.
pub fn signed(secret: &str, but: Value) -> String {
    encode(&Header::new(Algorithm::HS256), &claims(but), &EncodingKey::from_secret(secret.as_bytes())).expect("signed")
}

/// Signed by the key of `tests/keys/` that goes by this algorithm.
pub fn issued(algorithm: Algorithm, kid: &str, but: Value) -> String {
    let key = match algorithm {
        Algorithm::RS256 => EncodingKey::from_rsa_der(include_bytes!("../../keys/rsa.der")),
        Algorithm::ES256 => EncodingKey::from_ec_der(include_bytes!("../../keys/ec.der")),
        Algorithm::EdDSA => EncodingKey::from_ed_der(include_bytes!("../../keys/ed.der")),
        other => panic!("there is no key for {other:?}"),
    };
    let header = Header { kid: Some(kid.to_owned()), ..Header::new(algorithm) };
    encode(&header, &claims(but), &key).expect("signed")
}
