//! Authentication and authorization: keys, tokens, roles, queue patterns. Speaks no HTTP; a credential never leaves this module.

mod bad;
mod caller;
mod keys;
mod pattern;
mod rate;
mod revoke;
mod rotate;
mod scope;
mod tokens;
mod until;

use std::{
    future,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

pub use self::{
    bad::InvalidCredential,
    caller::{Caller, RequiredRole},
    keys::{HashStart, KeyName, MadeKey, make},
    pattern::Pattern,
    rate::StoreRate,
    revoke::revoke,
    rotate::{Rotated, rotate},
    scope::TokenScope,
    tokens::{MIN_SECRET_BYTES, SignedToken, Signer},
    until::CredentialExpiry,
};
use self::{keys::ApiKeys, rate::RateLimiter, tokens::KeySet, tokens::Tokens};
use crate::files::{self, Watched};
use crate::job::QueueName;
pub use crate::job::Role;

/// The longest time until a waiting call's credential is checked again: clocks are set.
const MAX_UNCHECKED: Duration = Duration::from_secs(60);
/// The time between two checks of a credential that is past its end, and valid while clocks may differ.
const RECHECK_IN_LEEWAY: Duration = Duration::from_secs(1);

/// An authenticated caller with their credential, which can be checked again later. Never printed.
#[derive(Clone)]
pub struct Pass {
    pub caller: Caller,
    control: Option<Arc<AccessControl>>,
    credential: Arc<str>,
}

impl Pass {
    /// Checks the credential again: a key may be revoked, reassigned or expired, and a token or its issuer's key may expire.
    pub fn is_valid(&self) -> bool {
        self.control.as_ref().is_none_or(|control| self.current(control).is_some())
    }

    /// Waits until the credential is no longer valid. It is checked now, and then only when it may have ended, because very many calls
    /// wait at once.
    pub async fn ended(&self) {
        let Some(control) = &self.control else { return future::pending().await };
        let (mut keys, mut issuers) =
            (control.keys.as_ref().map(Watched::follow), control.issuers.as_ref().map(Watched::follow));
        let mut until = self.caller.until;
        // It may have ended before the files were followed.
        if self.current(control).is_none() {
            return;
        }
        loop {
            let pause = until.map_or(MAX_UNCHECKED, |until| until.remaining().min(MAX_UNCHECKED));
            tokio::select! {
                () = changed(&mut keys) => {}
                () = changed(&mut issuers) => {}
                () = sleep(if pause.is_zero() { RECHECK_IN_LEEWAY } else { pause }) => {}
            }
            match self.current(control) {
                Some(caller) => until = caller.until,
                None => return,
            }
        }
    }

    /// The caller as the credential says it now, if it is still the same.
    fn current(&self, control: &AccessControl) -> Option<Caller> {
        control.identify(&self.credential).ok().filter(|now| now.is_same_caller(&self.caller))
    }

    /// The account of [`Access::payer`].
    pub fn payer(&self) -> Arc<str> {
        let control = self.control.as_ref();
        control.map_or_else(|| self.caller.credential.clone(), |control| control.payer(&self.caller))
    }

    /// Counts one more call against the rate limit, for a call that was authenticated once and runs on.
    ///
    /// # Errors
    /// How long the caller has to wait.
    pub fn take_rate_permit(&self) -> Result<(), Duration> {
        let Some(rate) = self.control.as_ref().and_then(|control| control.rate.as_ref()) else { return Ok(()) };
        rate.take(&self.caller.credential, Instant::now()).map_err(|ms| Duration::from_millis(ms.into()))
    }
}

/// Why a call is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessDenied {
    /// The credential is not valid, or no longer valid. The reason is counted; the caller learns only that a key has expired.
    Bad(InvalidCredential),
    TooMany {
        retry_after_ms: u32,
    },
}

/// The sources of credentials.
pub struct CredentialSources {
    pub keys_file: Option<PathBuf>,
    pub jwks_file: Option<PathBuf>,
    /// The first one signs, all of them verify.
    pub secrets: Vec<Vec<u8>>,
    /// The `iss` that tokens must have, and that our own tokens get.
    pub issuer: String,
    /// The longest remaining lifetime of an outside issuer's token.
    pub max_lifetime: Duration,
    /// Calls a second per credential; 0 = no limit.
    pub rate: u32,
}

/// A cheap handle. When access control is off, every caller may do everything.
#[derive(Clone)]
pub struct Access {
    control: Option<Arc<AccessControl>>,
    /// The caller of a service without access control, made once.
    unrestricted: Caller,
}

struct AccessControl {
    keys: Option<Watched<ApiKeys>>,
    issuers: Option<Watched<KeySet>>,
    tokens: Tokens,
    rate: Option<RateLimiter<Arc<str>>>,
}

impl Access {
    pub fn off() -> Self {
        Self::of(None)
    }

    /// Access control is on as soon as there is one source of credentials.
    ///
    /// # Errors
    /// One line for the operator: which file is invalid, and where.
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
            return Err(format!(
                "{}: it holds no key, so every call would be refused: add one (intray key)",
                keys.names()
            ));
        }
        let issuers =
            jwks_file.map(|path| Watched::open(vec![path], |texts| KeySet::parse(&texts.concat()))).transpose()?;
        let (tokens, rate) = (Tokens::new(&secrets, issuer, longest), RateLimiter::per_second(rate));
        Ok(Self::of(Some(Arc::new(AccessControl { keys, issuers, tokens, rate }))))
    }

    fn of(control: Option<Arc<AccessControl>>) -> Self {
        Self { control, unrestricted: Caller::without_access_control() }
    }

    /// What was left out of the files, each with the path.
    pub fn warnings(&self) -> Vec<String> {
        let issuers = self.control.as_ref().and_then(|control| control.issuers.as_ref());
        issuers.map(Watched::warnings).unwrap_or_default()
    }

    pub fn is_on(&self) -> bool {
        self.control.is_some()
    }

    /// Authenticates a call by its key or token, and counts it against the rate limit.
    ///
    /// # Errors
    /// Why the call is refused.
    pub fn authenticate(&self, credential: &str) -> Result<Pass, AccessDenied> {
        let Some(control) = &self.control else {
            let caller = self.unrestricted.clone();
            return Ok(Pass { credential: caller.credential.clone(), caller, control: None });
        };
        let caller = control.identify(credential).map_err(AccessDenied::Bad)?;
        if let Some(rate) = &control.rate {
            let taken = rate.take(&caller.credential, Instant::now());
            taken.map_err(|retry_after_ms| AccessDenied::TooMany { retry_after_ms })?;
        }
        Ok(Pass { caller, control: self.control.clone(), credential: credential.into() })
    }

    /// The owner of a key or token, for calls that need none. Does not count against the rate limit.
    pub fn identify(&self, credential: &str) -> Option<Caller> {
        self.control.as_ref()?.identify(credential).ok()
    }

    /// Whether keys have different patterns, so that shared limits are divided between them.
    pub fn has_partitions(&self) -> bool {
        self.keys().is_some_and(|keys| keys.has_partitions())
    }

    /// The index of the key pattern that a queue belongs to, where keys have different patterns.
    pub fn partition(&self, queue: &QueueName) -> Option<usize> {
        self.keys()?.partition(queue)
    }

    /// The account that a caller's use of shared limits is charged to: a key has its own. Tokens are cheap to make, so all tokens
    /// covered by one key pattern share an account, and so do the other tokens of one issuer.
    pub fn payer(&self, caller: &Caller) -> Arc<str> {
        self.control.as_ref().map_or_else(|| caller.credential.clone(), |control| control.payer(caller))
    }

    fn keys(&self) -> Option<Arc<ApiKeys>> {
        self.control.as_ref()?.keys()
    }

    /// Signs tokens. `None`: no secret is configured.
    pub fn signer(&self) -> Option<&Signer> {
        self.control.as_ref()?.tokens.signer()
    }

    /// Reloads the files when they change, until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        files::watch("keys", move || self.check_files(), stop).await;
    }

    /// Checks the files once, and returns the time until the next check.
    fn check_files(&self) -> Duration {
        let control = self.control.as_ref();
        let keys = control.and_then(|control| control.keys.as_ref()).map(Watched::check);
        let issuers = control.and_then(|control| control.issuers.as_ref()).map(Watched::check);
        keys.into_iter().chain(issuers).min().unwrap_or(files::CHECK_INTERVAL)
    }
}

/// Waits until a file of credentials has another content.
async fn changed<T>(file: &mut Option<watch::Receiver<Arc<T>>>) {
    match file {
        // Its sender lives as long as the access control does.
        Some(file) => drop(file.changed().await),
        None => future::pending().await,
    }
}

impl AccessControl {
    fn keys(&self) -> Option<Arc<ApiKeys>> {
        self.keys.as_ref().map(Watched::now)
    }

    fn payer(&self, caller: &Caller) -> Arc<str> {
        if caller.key_name().is_some() {
            return caller.credential.clone();
        }
        let pattern =
            self.keys().and_then(|keys| keys.covering(caller.patterns()).map(|p| ["pattern\n", p.as_str()].concat()));
        pattern.map_or_else(|| caller.issuer().into(), Into::into)
    }

    fn identify(&self, credential: &str) -> Result<Caller, InvalidCredential> {
        let by_key = self.keys.as_ref().and_then(|keys| keys.now().find(credential));
        by_key.unwrap_or_else(|| {
            let issuers = self.issuers.as_ref().map(Watched::now);
            self.tokens.verify(credential, issuers.as_deref())
        })
    }
}

#[cfg(test)]
mod tests;
