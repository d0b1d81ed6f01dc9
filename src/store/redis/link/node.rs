//! What a cluster asks of the links to its nodes.

use redis::{Cmd, RedisError, Value, aio::ConnectionLike, aio::MultiplexedConnection};

use std::sync::atomic::Ordering;

use super::{Link, Sent, Server, slot::Slot};

/// How a command goes.
#[derive(Clone, Copy)]
pub(super) struct Way<'s> {
    /// Over this one, or any of those that are shared.
    pub(super) slot: Option<&'s Slot>,
    /// Its slot of the cluster is just being moved here.
    pub(super) asking: bool,
}

impl Way<'_> {
    pub(super) const ANY: Self = Self { slot: None, asking: false };
}

impl Link {
    /// A link of the same kind to another node.
    pub(in crate::store::redis) fn sibling(&self, server: Server) -> Self {
        Self::build(server, (None, self.durability.clone()), self.form.fresh())
    }

    /// A plain command, and why there is no answer.
    pub(in crate::store::redis) async fn attempt_plain(&self, asking: bool, command: &Cmd) -> Result<Value, Sent> {
        self.send(Way { slot: None, asking }, command).await
    }

    pub(crate) fn server(&self) -> &Server {
        self.home.server()
    }

    /// Host and port, the socket, or what sentinels call it.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// It did not answer when it was last asked.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

/// To a node that has a slot only in part yet: the word before is for this command alone.
pub(super) async fn ask(connection: &mut MultiplexedConnection, command: &Cmd) -> Result<Value, RedisError> {
    let mut both = redis::pipe();
    both.add_command(redis::cmd("ASKING")).add_command(command.clone());
    let answers = connection.req_packed_commands(&both, 0, 2).await?;
    answers.into_iter().try_fold(Value::Nil, |_, answer| answer.extract_error())
}
