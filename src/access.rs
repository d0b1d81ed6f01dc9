//! Who calls and what they may: keys, tokens, roles, queues. No HTTP in here, and no credential ever leaves it.

mod bad;
mod caller;
mod keys;
mod pattern;
mod rate;
mod revoke;
mod rotate;
mod tokens;
mod until;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

pub use self::{
    bad::InvalidCredential,
    caller::{Caller, RequiredRole},
    keys::{HashStart, KeyName, MadeKey, make},
    pattern::Pattern,
    revoke::revoke,
    rotate::{Rotated, rotate},
    tokens::{MIN_SECRET_BYTES, SignedToken, Signer},
    until::CredentialExpiry,
};
use self::{keys::ApiKeys, rate::RateLimiter, tokens::KeySet, tokens::Tokens};
use crate::files::{self, Watched};
use crate::job::QueueName;
pub use crate::job::Role;

/// Who was let in, and by what: it can be asked again whether that still holds. Never printed.
#[derive(Clone)]
pub struct Pass {
    pub caller: Caller,
    control: Option<Arc<AccessControl>>,
    credential: Arc<str>,
}

impl Pass {
    /// A key can be taken away, be given to somebody else or end, a token ends, its issuer's key may go.
    pub fn is_valid(&self) -> bool {
        let is_still = |control: &Arc<AccessControl>| {
            control.identify(&self.credential).is_ok_and(|now| now.is_same_caller(&self.caller))
        };
        self.control.as_ref().is_none_or(is_still)
    }

    /// One call more, of somebody who goes on with one that was let in.
    ///
    /// # Errors
    /// For how long they call too often.
    pub fn take_rate_permit(&self) -> Result<(), Duration> {
        let Some(rate) = self.control.as_ref().and_then(|control| control.rate.as_ref()) else { return Ok(()) };
        match rate.take(&self.caller.credential, Instant::now()) {
            Err(AccessDenied::TooMany { retry_after_ms }) => Err(Duration::from_millis(retry_after_ms.into())),
            Ok(()) | Err(AccessDenied::Bad(_)) => Ok(()),
        }
    }
}

/// Why a call is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessDenied {
    /// A credential that is none, or is not any more. It is counted which, and said only of a key that has ended.
    Bad(InvalidCredential),
    TooMany {
        retry_after_ms: u32,
    },
}

/// Where credentials come from.
pub struct CredentialSources {
    pub keys_file: Option<PathBuf>,
    pub jwks_file: Option<PathBuf>,
    /// The first signs, all verify.
    pub secrets: Vec<Vec<u8>>,
    /// What `iss` must be, and is in our own tokens.
    pub issuer: String,
    /// How far ahead a token of an outside issuer may end.
    pub max_lifetime: Duration,
    /// Calls a second of each credential; 0 = no limit.
    pub rate: u32,
}

/// A cheap handle. Off, it lets everybody do everything.
#[derive(Clone)]
pub struct Access {
    control: Option<Arc<AccessControl>>,
    /// Made once, for those who need no credential.
    unrestricted: Caller,
}

struct AccessControl {
    keys: Option<Watched<ApiKeys>>,
    issuers: Option<Watched<KeySet>>,
    tokens: Tokens,
    rate: Option<RateLimiter>,
}

impl Access {
    pub fn off() -> Self {
        Self::of(None)
    }

    /// On as soon as there is one source of credentials.
    ///
    /// # Errors
    /// One line for the operator: which file is not what it should be, and where.
    pub fn open(sources: CredentialSources) -> Result<Self, String> {
        let CredentialSources { keys_file, jwks_file, secrets, issuer, max_lifetime: longest, rate } = sources;
        if keys_file.is_none() && jwks_file.is_none() && secrets.is_empty() {
            return Ok(Self::off());
        }
        let keys =
            keys_file.map(|path| Watched::open(vec![path], |texts| ApiKeys::parse(&texts.concat()))).transpose()?;
        if let Some(keys) =
            keys.as_ref().filter(|keys| keys.now().is_empty() && jwks_file.is_none() && secrets.is_empty())
        {
            return Err(format!("{}: it holds no key, so that no call is let in: add one (intray key)", keys.names()));
        }
        let issuers =
            jwks_file.map(|path| Watched::open(vec![path], |texts| KeySet::parse(&texts.concat()))).transpose()?;
        let (tokens, rate) = (Tokens::new(&secrets, issuer, longest), RateLimiter::new(rate));
        Ok(Self::of(Some(Arc::new(AccessControl { keys, issuers, tokens, rate }))))
    }

    fn of(control: Option<Arc<AccessControl>>) -> Self {
        Self { control, unrestricted: Caller::without_access_control() }
    }

    pub fn is_on(&self) -> bool {
        self.control.is_some()
    }

    /// Who comes with this key or token, if their call is one that may be made now.
    ///
    /// # Errors
    /// Why not.
    pub fn authenticate(&self, credential: &str) -> Result<Pass, AccessDenied> {
        let Some(control) = &self.control else {
            let caller = self.unrestricted.clone();
            return Ok(Pass { credential: caller.credential.clone(), caller, control: None });
        };
        let caller = control.identify(credential).map_err(AccessDenied::Bad)?;
        if let Some(rate) = &control.rate {
            rate.take(&caller.credential, Instant::now())?;
        }
        Ok(Pass { caller, control: self.control.clone(), credential: credential.into() })
    }

    /// Whose key or token it is, for calls that need none. It does not count as a call.
    pub fn identify(&self, credential: &str) -> Option<Caller> {
        self.control.as_ref()?.identify(credential).ok()
    }

    /// Whether there are keys for different queues, so that callers have shares of what all need.
    pub fn has_partitions(&self) -> bool {
        self.keys().is_some_and(|keys| keys.has_partitions())
    }

    /// Which of different keys' patterns a queue belongs to.
    pub fn partition(&self, queue: &QueueName) -> Option<usize> {
        self.keys()?.partition(queue)
    }

    /// Who pays for what a caller takes: a key for itself. Tokens are many and made at will, so those that one pattern of the keys
    /// covers pay together, and so do the others of one issuer.
    pub fn payer(&self, caller: &Caller) -> Arc<str> {
        if caller.key_name().is_some() {
            return caller.credential.clone();
        }
        let pattern =
            self.keys().and_then(|keys| keys.covering(caller.patterns()).map(|p| ["pattern\n", p.as_str()].concat()));
        pattern.map_or_else(|| caller.issuer().into(), Into::into)
    }

    fn keys(&self) -> Option<Arc<ApiKeys>> {
        self.control.as_ref()?.keys.as_ref().map(Watched::now)
    }

    /// What signs tokens. `None`: there is no secret to do it with.
    pub fn signer(&self) -> Option<&Signer> {
        self.control.as_ref()?.tokens.signer()
    }

    /// Reads the files again when they have changed, until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        files::watch("keys", move || self.check_files(), stop).await;
    }

    /// One look at the files; answers how long after it the next one is.
    fn check_files(&self) -> Duration {
        let control = self.control.as_ref();
        let keys = control.and_then(|control| control.keys.as_ref()).map(Watched::check);
        let issuers = control.and_then(|control| control.issuers.as_ref()).map(Watched::check);
        keys.into_iter().chain(issuers).min().unwrap_or(files::CHECK_INTERVAL)
    }
}

impl AccessControl {
    fn identify(&self, credential: &str) -> Result<Caller, InvalidCredential> {
        let by_key = self.keys.as_ref().and_then(|keys| keys.now().find(credential));
        by_key.unwrap_or_else(|| {
            let issuers = self.issuers.as_ref().map(Watched::now);
            self.tokens.verify(credential, issuers.as_deref())
        })
    }
}
