//! JSON Web Tokens, each for one worker and some queues, signed by us or by an issuer whose public keys are in a file.

mod key_set;

use std::time::Duration;

use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode, get_current_timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) use self::key_set::KeySet;
use super::{Caller, CredentialExpiry, InvalidCredential, KeyName, Pattern, TokenScope};
use crate::job::{JobId, Millis, Name, Skill, WorkerAccess, limits};

/// The shortest secret: as many bytes as an HS256 digest (RFC 7518, section 3.2).
pub const MIN_SECRET_BYTES: usize = 32;
/// The `aud` that every token must have.
const AUDIENCE: &str = "intray";
/// Allowed difference between the clocks of an issuer and this service.
const LEEWAY_SECONDS: u64 = 5;

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
    /// The name of the key that made the token. Not believed of an outside issuer.
    minted_by: Option<Value>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    minted_by: Option<&'a str>,
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
        let validation = self.rules(header.alg);
        let by = |why, key| match why {
            // Signed with another secret or key: try the next one.
            Err(InvalidCredential::UnknownSigner | InvalidCredential::BadSignature) => {
                Ok(decode::<Claims>(token, key, &validation)?)
            }
            known => known,
        };
        let unknown = Err(InvalidCredential::UnknownSigner);
        let claims = if header.alg == Algorithm::HS256 {
            self.secrets.iter().fold(unknown, by)?
        } else {
            let kid = header.kid.as_deref();
            let keys = kid.zip(issuers).into_iter().flat_map(|(kid, set)| set.candidates(kid, header.alg));
            let claims = keys.fold(unknown, by)?;
            let ahead = claims.claims.exp - get_current_timestamp() as f64;
            if ahead > self.max_lifetime.as_secs_f64() + LEEWAY_SECONDS as f64 {
                return Err(InvalidCredential::TooLongLived);
            }
            claims
        };
        let access = claims.claims.access(header.alg);
        let caller = self.caller(&claims.claims, access).ok_or(InvalidCredential::Malformed)?;
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

    fn caller(&self, claims: &Claims, access: WorkerAccess) -> Option<Caller> {
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
        Some(Caller::of_token(iss, worker, scope, skills, until, access))
    }
}

impl Claims {
    /// Only our own secrets sign with HS256.
    fn access(&self, algorithm: Algorithm) -> WorkerAccess {
        if algorithm != Algorithm::HS256 {
            return WorkerAccess::Issued(self.iss.as_str().into());
        }
        let key = self.minted_by.as_ref().and_then(Value::as_str).and_then(|name| name.parse::<KeyName>().ok());
        WorkerAccess::Token(key.map(|name| name.as_str().into()))
    }

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

    /// Signs a token that lasts `ttl`, rounded up to the second, and no longer than the key that requests it. `minted_by` is the
    /// name of that key. `None`: signing failed, which does not happen with HS256.
    pub fn sign(
        &self,
        worker: &Name,
        scope: &TokenScope,
        skills: &[Skill],
        ttl: Duration,
        key: Option<CredentialExpiry>,
        minted_by: Option<&str>,
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
        let claims = NewClaims { iss, sub, aud, iat, exp, key_until, queues, job, skills, minted_by };
        let token = encode(&Header::new(Algorithm::HS256), &claims, &self.key).ok()?;
        Some(SignedToken { token, expires_at: Millis(key_until.unwrap_or(exp * 1_000)) })
    }
}

#[cfg(test)]
mod tests;
