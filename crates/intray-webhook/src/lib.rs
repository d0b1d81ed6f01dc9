//! Signs and sends webhooks by [Standard Webhooks 1.0](https://www.standardwebhooks.com). The path and the query of a URL are
//! secrets, as a secret itself is: nothing here shows more than the host.

mod connector;
mod failure;
mod retry_after;
mod secret;
mod sender;
mod target;

#[cfg(test)]
mod tests;

pub use self::{
    failure::AttemptError,
    secret::{SecretError, WebhookSecret, sign},
    sender::{Attempt, Sender},
    target::{Target, TargetError},
};
