//! JSON Web Tokens, each for one worker and some queues, signed by us or by an issuer whose public keys are in a file.

use std::{collections::HashMap, time::Duration};

use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode, get_current_timestamp,
};
use serde::{Deserialize, Serialize};

use super::{Caller, CredentialExpiry, InvalidCredential, Pattern, TokenScope};
use crate::{
    files::Describe,
    job::{JobId, Millis, Name, Skill, limits},
};

/// The shortest secret: as many bytes as an HS256 digest (RFC 7518, section 3.2).
pub const MIN_SECRET_BYTES: usize = 32;
/// The `aud` that every token must have.
const AUDIENCE: &str = "intray";
/// Allowed difference between the clocks of an issuer and this service.
const LEEWAY_SECONDS: u64 = 5;
/// 2048 bits in base64url: a shorter RSA key is refused.
const MIN_RSA_CHARACTERS: usize = 342;

/// The claims that are read.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    /// In seconds; some issuers send a fraction.
    exp: f64,
    /// Expiry in milliseconds of the key that the token was requested with; clock leeway does not apply to it.
    key_until: Option<u64>,
    /// A token is for queues or for one job. A version that knows no `job` refuses a token without queues.
    queues: Option<Vec<String>>,
    job: Option<String>,
    /// What the worker can do; nothing if it is absent.
    #[serde(default)]
    skills: Vec<String>,
}

#[derive(Serialize)]
struct NewClaims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_until: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a JobId>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    skills: &'a [Skill],
}

/// The public keys of outside issuers by `kid`, each for one algorithm.
pub(super) struct KeySet(HashMap<String, (Algorithm, DecodingKey)>);

/// The parts of a JSON Web Key (RFC 7517) that are used.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Parses a JWKS. Keys that are not for signing, or have another algorithm, are skipped.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Jwks {
            keys: Vec<Jwk>,
        }
        // The error gives the line and never quotes it.
        let wrong = |error: serde_json::Error| format!("line {}: it is not a JSON Web Key Set", error.line());
        let jwks: Jwks = serde_json::from_str(text).map_err(wrong)?;
        let mut keys = HashMap::new();
        for (index, jwk) in jwks.keys.iter().enumerate() {
            let named = |why: &str| format!("key {}: {why}", index + 1);
            if jwk.kty == "oct" {
                return Err(named("it is a shared secret, which belongs into --token-secret"));
            }
            let Some(key) = jwk.key().map_err(named)? else { continue };
            let kid = jwk.kid.clone().ok_or_else(|| named("it has no kid"))?;
            if keys.insert(kid, key).is_some() {
                return Err(named("its kid is another key's"));
            }
        }
        if keys.is_empty() { Err("it has no key for RS256, ES256 or EdDSA".to_owned()) } else { Ok(Self(keys)) }
    }
}

impl Describe for KeySet {
    fn describe(&self) -> String {
        format!("{} keys", self.0.len())
    }
}

impl Jwk {
    /// The type of the key decides its algorithm; a token cannot choose another. `None`: not a key for signatures we accept.
    fn key(&self) -> Result<Option<(Algorithm, DecodingKey)>, &'static str> {
        let (algorithm, word) = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", None) => (Algorithm::RS256, "RS256"),
            ("EC", Some("P-256")) => (Algorithm::ES256, "ES256"),
            ("OKP", Some("Ed25519")) => (Algorithm::EdDSA, "EdDSA"),
            _ => return Ok(None),
        };
        let signs = self.usage.as_deref().is_none_or(|usage| usage == "sig");
        let alg = self.alg.as_deref().unwrap_or(word);
        if !signs || alg != word && !(word == "EdDSA" && alg == "Ed25519") {
            return Ok(None);
        }
        let key = match (algorithm, self) {
            (Algorithm::RS256, Self { n: Some(n), e: Some(e), .. }) => {
                if n.len() < MIN_RSA_CHARACTERS {
                    return Err("an RSA key must have at least 2048 bits");
                }
                DecodingKey::from_rsa_components(n, e)
            }
            (Algorithm::ES256, Self { x: Some(x), y: Some(y), .. }) => DecodingKey::from_ec_components(x, y),
            (Algorithm::EdDSA, Self { x: Some(x), .. }) => DecodingKey::from_ed_components(x),
            _ => return Err("a part of it is missing"),
        };
        key.map(|key| Some((algorithm, key))).map_err(|_| "a part of it is not in base64url")
    }
}

/// Our own secrets, and the rules for all tokens.
pub(super) struct Tokens {
    issuer: String,
    /// The longest remaining lifetime of an outside issuer's token, because it cannot be revoked.
    max_lifetime: Duration,
    secrets: Vec<DecodingKey>,
    signer: Option<Signer>,
}

impl Tokens {
    pub(super) fn new(secrets: &[Vec<u8>], issuer: String, longest: Duration) -> Self {
        let signer = secrets.first().map(|secret| Signer::new(secret, issuer.clone()));
        let secrets = secrets.iter().map(|secret| DecodingKey::from_secret(secret)).collect();
        Self { issuer, max_lifetime: longest, secrets, signer }
    }

    pub(super) fn signer(&self) -> Option<&Signer> {
        self.signer.as_ref()
    }

    /// The token only names a key; the key decides the algorithm.
    pub(super) fn verify(&self, token: &str, issuers: Option<&KeySet>) -> Result<Caller, InvalidCredential> {
        let header = decode_header(token).map_err(|_| InvalidCredential::UnknownKey)?;
        // The token needs an extension that we do not support (RFC 7515, section 4.1.11).
        if header.crit.is_some() {
            return Err(InvalidCredential::Malformed);
        }
        let claims = match header.alg {
            Algorithm::HS256 => {
                let validation = self.rules(Algorithm::HS256);
                let by = |why, secret| match why {
                    // Signed with another secret: try the next one.
                    Err(InvalidCredential::UnknownSigner | InvalidCredential::BadSignature) => {
                        Ok(decode::<Claims>(token, secret, &validation)?)
                    }
                    known => known,
                };
                self.secrets.iter().fold(Err(InvalidCredential::UnknownSigner), by)?
            }
            named => {
                let kid = header.kid.as_deref();
                let known = kid.and_then(|kid| issuers?.0.get(kid)).filter(|(algorithm, _)| *algorithm == named);
                let (algorithm, key) = known.ok_or(InvalidCredential::UnknownSigner)?;
                let claims = decode::<Claims>(token, key, &self.rules(*algorithm))?;
                let ahead = claims.claims.exp - get_current_timestamp() as f64;
                if ahead > self.max_lifetime.as_secs_f64() + LEEWAY_SECONDS as f64 {
                    return Err(InvalidCredential::TooLongLived);
                }
                claims
            }
        };
        let caller = self.caller(&claims.claims).ok_or(InvalidCredential::Malformed)?;
        let has_key_ended =
            claims.claims.key_until.is_some_and(|until| CredentialExpiry::from_millis(until).has_expired());
        if has_key_ended { Err(InvalidCredential::Expired) } else { Ok(caller) }
    }

    fn rules(&self, algorithm: Algorithm) -> Validation {
        let mut rules = Validation::new(algorithm);
        rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        rules.set_issuer(&[&self.issuer]);
        rules.set_audience(&[AUDIENCE]);
        rules.validate_nbf = true;
        rules.leeway = LEEWAY_SECONDS;
        rules
    }

    fn caller(&self, claims: &Claims) -> Option<Caller> {
        let Claims { iss, sub, exp, key_until, skills, .. } = claims;
        let worker = Name::of_worker(sub).ok()?;
        if *iss != self.issuer || skills.len() > limits::SKILLS {
            return None;
        }
        let scope = claims.scope()?;
        let mut skills = skills.iter().map(|skill| Skill::parse(skill).ok()).collect::<Option<Vec<_>>>()?;
        skills.sort_unstable();
        skills.dedup();
        let own = CredentialExpiry::from_seconds(*exp);
        let until = key_until.map_or(own, |until| own.min(CredentialExpiry::from_millis(until)));
        Some(Caller::of_token(iss, worker, scope, skills, until))
    }
}

impl Claims {
    fn scope(&self) -> Option<TokenScope> {
        match (&self.queues, &self.job) {
            (Some(queues), None) if (1..=limits::TOKEN_QUEUES).contains(&queues.len()) => {
                let queues = queues.iter().map(|queue| Pattern::parse(queue).ok()).collect::<Option<_>>()?;
                Some(TokenScope::Queues(queues))
            }
            (None, Some(job)) => JobId::parse(job).ok().map(TokenScope::Job),
            _ => None,
        }
    }
}

/// Signs tokens with the first of our secrets.
pub struct Signer {
    key: EncodingKey,
    issuer: String,
}

/// A new token, and its expiry.
pub struct SignedToken {
    pub token: String,
    pub expires_at: Millis,
}

impl Signer {
    pub fn new(secret: &[u8], issuer: String) -> Self {
        Self { key: EncodingKey::from_secret(secret), issuer }
    }

    /// Signs a token that lasts `ttl`, rounded up to the second, and no longer than the key that requests it. `None`: signing
    /// failed, which does not happen with HS256.
    pub fn sign(
        &self,
        worker: &Name,
        scope: &TokenScope,
        skills: &[Skill],
        ttl: Duration,
        key: Option<CredentialExpiry>,
    ) -> Option<SignedToken> {
        let iat = get_current_timestamp();
        let own = iat + ttl.as_millis().div_ceil(1_000) as u64;
        let key_until = key.map(|until| until.instant().0).filter(|until| *until < own * 1_000);
        let exp = key_until.map_or(own, |until| until.div_ceil(1_000));
        let (queues, job) = match scope {
            TokenScope::Queues(queues) => (Some(queues.iter().map(Pattern::as_str).collect()), None),
            TokenScope::Job(job) => (None, Some(job)),
        };
        let (iss, sub, aud) = (self.issuer.as_str(), worker.as_str(), AUDIENCE);
        let claims = NewClaims { iss, sub, aud, iat, exp, key_until, queues, job, skills };
        let token = encode(&Header::new(Algorithm::HS256), &claims, &self.key).ok()?;
        Some(SignedToken { token, expires_at: Millis(key_until.unwrap_or(exp * 1_000)) })
    }
}

#[cfg(test)]
mod tests;
