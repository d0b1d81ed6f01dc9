//! Who calls, and whom calls are for.

use std::sync::Arc;

use super::{CredentialExpiry, Pattern, Role};
use crate::job::{Name, QueueName};

/// How a key's credential begins, and a token's: neither can be taken for the other.
const KEY: &str = "key\n";
const TOKEN: &str = "token\n";

/// Whom a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredRole {
    /// Nobody in particular: no credential is looked at.
    Public,
    /// Whoever shows a credential that is one.
    Authenticated,
    Worker,
    Producer,
    /// What workers read of what is held, viewers read too.
    WorkerOrViewer,
    /// What producers read, viewers read too.
    ProducerOrViewer,
    Viewer,
    Operator,
}

impl Role {
    /// An operator may do everything.
    pub fn allows_calls_for(self, who: RequiredRole) -> bool {
        match self {
            Self::Worker => matches!(
                who,
                RequiredRole::Public
                    | RequiredRole::Authenticated
                    | RequiredRole::Worker
                    | RequiredRole::WorkerOrViewer
            ),
            Self::Producer => matches!(
                who,
                RequiredRole::Public
                    | RequiredRole::Authenticated
                    | RequiredRole::Producer
                    | RequiredRole::ProducerOrViewer
            ),
            Self::Viewer => matches!(
                who,
                RequiredRole::Public
                    | RequiredRole::Authenticated
                    | RequiredRole::WorkerOrViewer
                    | RequiredRole::ProducerOrViewer
                    | RequiredRole::Viewer
            ),
            Self::Operator => true,
        }
    }
}

/// Who makes a call. Nothing in it is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub role: Role,
    /// The only worker that this caller may be; a key may name any.
    pub worker: Option<Name>,
    /// When they are nobody any more.
    pub until: Option<CredentialExpiry>,
    queues: Arc<[Pattern]>,
    pub(super) credential: Arc<str>,
}

impl Caller {
    /// Whoever calls a service without access control.
    pub fn without_access_control() -> Self {
        Self { role: Role::Operator, worker: None, until: None, queues: [Pattern::all()].into(), credential: "".into() }
    }

    /// Two keys of one name are one credential.
    pub(super) fn of_key(name: &str, role: Role, queues: Pattern, until: Option<CredentialExpiry>) -> Self {
        Self { role, worker: None, until, queues: [queues].into(), credential: [KEY, name].concat().into() }
    }

    /// A token is for a worker, whoever signed it.
    pub(super) fn of_token(issuer: &str, worker: Name, queues: Vec<Pattern>, until: CredentialExpiry) -> Self {
        let credential = [TOKEN, issuer, "\n", worker.as_str()].concat().into();
        Self { role: Role::Worker, worker: Some(worker), until: Some(until), queues: queues.into(), credential }
    }

    /// Whether it is still they: when that ends may have changed.
    pub(super) fn is_same_caller(&self, other: &Self) -> bool {
        *self == Self { until: self.until, ..other.clone() }
    }

    pub(super) fn has_expired(&self) -> bool {
        self.until.is_some_and(CredentialExpiry::has_expired)
    }

    /// Whether a queue is any of this caller's business.
    pub fn may_see(&self, queue: &QueueName) -> bool {
        self.queues.iter().any(|pattern| pattern.matches(queue))
    }

    /// Whether all queues of a pattern are.
    pub fn covers(&self, pattern: &Pattern) -> bool {
        self.queues.iter().any(|own| own.covers(pattern))
    }

    /// The queues that are.
    pub fn patterns(&self) -> &[Pattern] {
        &self.queues
    }

    /// The queues that a token names one by one: where its worker looks for work without saying so.
    pub fn named_queues(&self) -> Option<Vec<QueueName>> {
        self.worker.as_ref()?;
        self.queues.iter().map(Pattern::exact).collect()
    }

    /// Tells callers apart where their calls must not meet. Empty without access control.
    pub fn credential(&self) -> &str {
        &self.credential
    }

    /// The same to keep, where what one caller takes is counted.
    pub fn credential_owned(&self) -> Arc<str> {
        self.credential.clone()
    }

    /// Who signed their token: what stands before its worker.
    pub(super) fn issuer(&self) -> &str {
        self.credential.rsplit_once('\n').map_or(&*self.credential, |(issuer, _)| issuer)
    }

    /// The name of their key. A token has none, and nor has anybody without access control.
    pub fn key_name(&self) -> Option<&str> {
        self.credential.strip_prefix(KEY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_is_for_it_and_an_operator_all() {
        use RequiredRole::{
            Authenticated, Operator, Producer, ProducerOrViewer, Public, Viewer, Worker, WorkerOrViewer,
        };
        let all = [Public, Authenticated, Worker, WorkerOrViewer, Producer, ProducerOrViewer, Viewer, Operator];
        let may =
            |role: Role| all.map(|who| if role.allows_calls_for(who) { 'x' } else { '.' }).iter().collect::<String>();
        assert_eq!(
            Role::ALL.map(|role| (role, may(role))),
            [
                (Role::Worker, "xxxx....".to_owned()),
                (Role::Producer, "xx..xx..".to_owned()),
                (Role::Viewer, "xx.x.xx.".to_owned()),
                (Role::Operator, "xxxxxxxx".to_owned()),
            ]
        );
    }

    #[test]
    fn who_has_longer_is_the_same_and_who_has_another_role_is_not() {
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
