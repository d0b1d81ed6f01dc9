//! The caller of a request, and the role that a route requires.

use std::{ops::Deref, sync::Arc};

use super::{CredentialExpiry, Pattern, Role, TokenScope};
use crate::job::{JobId, Name, QueueName, Skill, WorkerAccess};

/// The first line of a caller's account name: a key's and a token's never collide.
const KEY: &str = "key\n";
const TOKEN: &str = "token\n";

/// The role that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredRole {
    /// No credential is needed or checked.
    Public,
    /// Any valid credential.
    Authenticated,
    Worker,
    /// Calls of producers, and of askers.
    Producer,
    /// Calls by which a producer can act as a worker.
    TokenMaker,
    /// Reads of reservations: for workers, and for viewers.
    WorkerOrViewer,
    /// Reads of jobs and batches: for producers, askers and viewers.
    ProducerOrViewer,
    Viewer,
    Operator,
}

impl RequiredRole {
    /// Whether a token for one job is enough, if its role is.
    pub fn allows_one_job(self) -> bool {
        matches!(self, Self::Public | Self::Authenticated | Self::Worker)
    }

    /// An operator may make every call.
    pub fn allows(self, role: Role) -> bool {
        let has = |allowed: &[Role]| role == Role::Operator || allowed.contains(&role);
        match self {
            Self::Public | Self::Authenticated => true,
            Self::Worker => has(&[Role::Worker]),
            Self::Producer => has(&[Role::Producer, Role::Asker]),
            Self::TokenMaker => has(&[Role::Producer]),
            Self::WorkerOrViewer => has(&[Role::Worker, Role::Viewer]),
            Self::ProducerOrViewer => has(&[Role::Producer, Role::Asker, Role::Viewer]),
            Self::Viewer => has(&[Role::Viewer]),
            Self::Operator => has(&[]),
        }
    }
}

/// The caller of a request, a cheap handle: each request copies it. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller(Arc<CallerParts>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerParts {
    pub role: Role,
    /// The only worker name this caller may use; a key may use any.
    pub worker: Option<Name>,
    /// The only job that this caller may reserve, by a token for one job.
    pub job: Option<JobId>,
    /// When the credential expires.
    pub until: Option<CredentialExpiry>,
    /// What the events of its reservations say of its credential.
    pub access: WorkerAccess,
    queues: Vec<Pattern>,
    /// The skills of the token; a key has none of its own.
    skills: Vec<Skill>,
    pub(super) credential: Arc<str>,
}

impl Deref for Caller {
    type Target = CallerParts;

    fn deref(&self) -> &CallerParts {
        &self.0
    }
}

impl Caller {
    /// The caller of a service without access control.
    pub fn without_access_control() -> Self {
        Self(Arc::new(CallerParts {
            role: Role::Operator,
            worker: None,
            job: None,
            until: None,
            access: WorkerAccess::Open,
            queues: vec![Pattern::all()],
            skills: Vec::new(),
            credential: "".into(),
        }))
    }

    /// Two keys of one name count as one credential.
    pub(super) fn of_key(name: &str, role: Role, queues: Pattern, until: Option<CredentialExpiry>) -> Self {
        Self(Arc::new(CallerParts {
            role,
            worker: None,
            job: None,
            until,
            access: WorkerAccess::Key(name.into()),
            queues: vec![queues],
            skills: Vec::new(),
            credential: [KEY, name].concat().into(),
        }))
    }

    /// A token is always a worker's, for every issuer.
    pub(super) fn of_token(
        issuer: &str,
        worker: Name,
        scope: TokenScope,
        skills: Vec<Skill>,
        until: CredentialExpiry,
        access: WorkerAccess,
    ) -> Self {
        let credential = [TOKEN, issuer, "\n", worker.as_str()].concat().into();
        let (queues, job) = match scope {
            TokenScope::Queues(queues) => (queues, None),
            TokenScope::Job(job) => (vec![Pattern::of(&job.queue)], Some(job)),
        };
        let (role, worker, until) = (Role::Worker, Some(worker), Some(until));
        Self(Arc::new(CallerParts { role, worker, job, until, access, queues, skills, credential }))
    }

    /// Whether two callers are the same except for their expiry.
    pub(super) fn is_same_caller(&self, other: &Self) -> bool {
        *self.0 == CallerParts { until: self.until, ..CallerParts::clone(other) }
    }

    pub(super) fn has_expired(&self) -> bool {
        self.until.is_some_and(CredentialExpiry::has_expired)
    }

    /// Whether this caller may see the queue.
    pub fn may_see(&self, queue: &QueueName) -> bool {
        self.queues.iter().any(|pattern| pattern.matches(queue))
    }

    /// Whether this caller may see every queue of the pattern.
    pub fn covers(&self, pattern: &Pattern) -> bool {
        self.queues.iter().any(|own| own.covers(pattern))
    }

    /// Whether this caller may see some queue of the pattern.
    pub fn overlaps(&self, pattern: &Pattern) -> bool {
        self.queues.iter().any(|own| own.overlaps(pattern))
    }

    /// The patterns of the queues this caller may see.
    pub fn patterns(&self) -> &[Pattern] {
        &self.queues
    }

    /// The skills that count in a call which names some, or none. A key's caller says what the worker can do; a token says it itself,
    /// and its caller can only narrow that.
    pub fn skills(&self, named: Option<Vec<Skill>>) -> Vec<Skill> {
        match (&self.worker, named) {
            (None, named) => named.unwrap_or_default(),
            (Some(_), None) => self.skills.to_vec(),
            (Some(_), Some(named)) => named.into_iter().filter(|skill| self.skills.contains(skill)).collect(),
        }
    }

    /// The queues of a token that names each queue exactly: the default of its worker's reserve calls.
    pub fn named_queues(&self) -> Option<Vec<QueueName>> {
        self.worker.as_ref()?;
        self.queues.iter().map(Pattern::exact).collect()
    }

    /// Identifies the caller, for state that must be separate for each. Empty without access control.
    pub fn credential(&self) -> &str {
        &self.credential
    }

    /// The same as a shared string.
    pub fn credential_owned(&self) -> Arc<str> {
        self.credential.clone()
    }

    /// The issuer of the token: the part before the worker's name.
    pub(super) fn issuer(&self) -> &str {
        self.credential.rsplit_once('\n').map_or(&*self.credential, |(issuer, _)| issuer)
    }

    /// The name of the key. `None` for tokens, and without access control.
    pub fn key_name(&self) -> Option<&str> {
        self.credential.strip_prefix(KEY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_allow_their_own_calls_and_an_operator_all() {
        use RequiredRole::{
            Authenticated, Operator, Producer, ProducerOrViewer, Public, TokenMaker, Viewer, Worker, WorkerOrViewer,
        };
        let all =
            [Public, Authenticated, Worker, WorkerOrViewer, Producer, TokenMaker, ProducerOrViewer, Viewer, Operator];
        let may = |role: Role| all.map(|who| if who.allows(role) { 'x' } else { '.' }).iter().collect::<String>();
        assert_eq!(
            Role::ALL.map(|role| (role, may(role))),
            [
                (Role::Worker, "xxxx.....".to_owned()),
                (Role::Asker, "xx..x.x..".to_owned()),
                (Role::Producer, "xx..xxx..".to_owned()),
                (Role::Viewer, "xx.x..xx.".to_owned()),
                (Role::Operator, "xxxxxxxxx".to_owned()),
            ]
        );
    }

    #[test]
    fn same_caller_ignores_expiry_but_not_the_role() {
        let until = |date: &str| date.parse().ok();
        let key = |role, until| Caller::of_key("web", role, Pattern::all(), until);
        let now = key(Role::Viewer, None);
        assert!(
            now.is_same_caller(&key(Role::Viewer, until("2030-01-01")))
                && key(Role::Viewer, until("2030-01-01")).is_same_caller(&now)
        );
        assert!(
            !now.is_same_caller(&key(Role::Producer, None)) && !now.is_same_caller(&Caller::without_access_control())
        );
        assert_eq!((now.key_name(), Caller::without_access_control().key_name()), (Some("web"), None));
    }
}
