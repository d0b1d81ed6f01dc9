//! The public keys of outside issuers, from a JSON Web Key Set. What cannot be used is left out and named (RFC 7517, section 5).

use std::collections::{BTreeMap, HashMap};

use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, crypto};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use crate::files::Describe;

/// The bits of an RSA key: fewer are not safe (RFC 7518, section 3.3), and more are not verified by the crate `rsa`.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=4_096;
/// The largest exponent of an RSA key that is verified.
const MAX_RSA_EXPONENT: u64 = (1 << 33) - 1;
/// The bytes of a coordinate on P-256 and of a key for Ed25519.
const POINT_BYTES: usize = 32;
/// The members of private and of symmetric keys (RFC 7518, sections 6.2.2, 6.3.2 and 6.4).
const SECRET_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Public keys by their `kid`, which several may have (RFC 7517, section 4.5).
pub(in crate::access) struct KeySet {
    keys: HashMap<String, Vec<PublicKey>>,
    /// Which entries are not used, and why.
    unused: Vec<String>,
}

/// A key, for one algorithm.
struct PublicKey {
    algorithm: Algorithm,
    key: DecodingKey,
    parts: [Option<String>; 4],
}

/// The parts of a JSON Web Key that are read.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// # Errors
    /// Why it is no set, or holds no key that can be used. The text is never quoted.
    pub(in crate::access) fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Jwks<'a> {
            #[serde(borrow)]
            keys: Vec<&'a RawValue>,
        }
        let wrong = |error: serde_json::Error| format!("line {}: it is not a JSON Web Key Set", error.line());
        let jwks: Jwks<'_> = serde_json::from_str(text).map_err(wrong)?;
        let (mut keys, mut unused) = (HashMap::<_, Vec<PublicKey>>::new(), Vec::new());
        for (index, entry) in jwks.keys.iter().enumerate() {
            match read(entry.get()) {
                Ok((kid, key)) => {
                    let of_kid = keys.entry(kid).or_default();
                    if !of_kid.iter().any(|other| other.parts == key.parts) {
                        of_kid.push(key);
                    }
                }
                Err(why) => unused.push(format!("key {} is not used: {why}", index + 1)),
            }
        }
        if keys.is_empty() {
            unused.insert(0, "it has no key for RS256, ES256 or EdDSA".to_owned());
            return Err(unused.join("; "));
        }
        Ok(Self { keys, unused })
    }

    /// The keys that may have signed by this algorithm.
    pub(super) fn candidates(&self, kid: &str, algorithm: Algorithm) -> impl Iterator<Item = &DecodingKey> {
        let of_kid = self.keys.get(kid).into_iter().flatten();
        of_kid.filter(move |key| key.algorithm == algorithm).map(|key| &key.key)
    }
}

impl Describe for KeySet {
    fn describe(&self) -> String {
        format!("{} keys", self.keys.values().map(Vec::len).sum::<usize>())
    }

    fn warnings(&self) -> &[String] {
        &self.unused
    }
}

/// Reads one entry of the set.
fn read(text: &str) -> Result<(String, PublicKey), &'static str> {
    let members: BTreeMap<String, IgnoredAny> = serde_json::from_str(text).map_err(|_| "it is not an object")?;
    let jwk: Jwk = serde_json::from_str(text).map_err(|_| "a member is missing, there twice, or of another type")?;
    if jwk.kty == "oct" {
        return Err("it is a shared secret, which belongs in --token-secret");
    }
    if SECRET_MEMBERS.iter().any(|name| members.contains_key(*name)) {
        return Err(
            "it holds its private part: what everyone can read signs for everyone, so its issuer needs another",
        );
    }
    jwk.public_key()
}

impl Jwk {
    /// The type of the key decides its algorithm; a token cannot choose another.
    fn public_key(self) -> Result<(String, PublicKey), &'static str> {
        let (algorithm, word) = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => (Algorithm::RS256, "RS256"),
            ("EC", Some("P-256")) => (Algorithm::ES256, "ES256"),
            ("OKP", Some("Ed25519")) => (Algorithm::EdDSA, "EdDSA"),
            _ => return Err("its type is none of RSA, EC on P-256 and OKP on Ed25519"),
        };
        let verifies = |operations: &Vec<String>| operations.iter().any(|operation| operation == "verify");
        if self.usage.as_deref().is_some_and(|usage| usage != "sig") || !self.key_ops.as_ref().is_none_or(verifies) {
            return Err("it is not for signatures");
        }
        let alg = self.alg.as_deref().unwrap_or(word);
        if alg != word && !(word == "EdDSA" && alg == "Ed25519") {
            return Err("its alg is none of RS256, ES256 and EdDSA, or of another type of key");
        }
        let kid = self.kid.ok_or("it has no kid")?;
        let parts = [self.n, self.e, self.x, self.y];
        let key = match (algorithm, &parts) {
            (Algorithm::RS256, [Some(n), Some(e), _, _]) => DecodingKey::from_rsa_components(n, e),
            (Algorithm::ES256, [_, _, Some(x), Some(y)]) => DecodingKey::from_ec_components(x, y),
            (Algorithm::EdDSA, [_, _, Some(x), _]) => DecodingKey::from_ed_components(x),
            _ => return Err("a part of it is missing"),
        };
        let key = key.map_err(|_| "a part of it is not in base64url")?;
        check(&key, algorithm)?;
        Ok((kid, PublicKey { algorithm, key, parts }))
    }
}

/// Refuses values that no signature can be verified by. The crate would notice, or panic, only when a token comes.
fn check(key: &DecodingKey, algorithm: Algorithm) -> Result<(), &'static str> {
    match key.kind() {
        DecodingKeyKind::RsaModulusExponent { n, e } => check_rsa(trimmed(n), trimmed(e)),
        DecodingKeyKind::SecretOrDer(bytes) => {
            let size = if algorithm == Algorithm::ES256 { 1 + 2 * POINT_BYTES } else { POINT_BYTES };
            let is_on_curve = bytes.len() == size && crypto::verify("", b"", key, algorithm).is_ok();
            is_on_curve.then_some(()).ok_or("it is not a point on its curve, whose parts have 32 bytes")
        }
    }
}

fn check_rsa(n: &[u8], e: &[u8]) -> Result<(), &'static str> {
    let bits = n.first().map_or(0, |first| n.len() * 8 - first.leading_zeros() as usize);
    if !RSA_BITS.contains(&bits) {
        return Err("an RSA key must have at least 2048 bits and at most 4096");
    }
    let exponent = e.iter().take(9).fold(0_u64, |value, byte| value.saturating_mul(256).saturating_add((*byte).into()));
    let is_odd = |bytes: &[u8]| bytes.last().is_some_and(|byte| byte % 2 == 1);
    let is_valid = (3..=MAX_RSA_EXPONENT).contains(&exponent) && is_odd(e) && is_odd(n);
    is_valid.then_some(()).ok_or("its modulus is even, or its exponent is none that signatures are verified by")
}

/// A number without its leading zeros.
fn trimmed(number: &[u8]) -> &[u8] {
    &number[number.iter().take_while(|byte| **byte == 0).count()..]
}
