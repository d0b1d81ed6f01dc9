//! How a command is sent to one server.

use redis::{Cmd, RedisError, Value, aio::ConnectionLike, aio::MultiplexedConnection};

use super::{CallError, Link, Server, slot::Slot};

#[derive(Clone, Copy)]
pub(super) struct Route<'s> {
    /// This connection, or any of the shared ones.
    pub(super) slot: Option<&'s Slot>,
    /// After `ASKING`: the cluster slot is being migrated to this node.
    pub(super) asking: bool,
}

impl Route<'_> {
    pub(super) const ANY: Self = Self { slot: None, asking: false };
}

impl Link {
    /// A link with the same settings to another node of the cluster.
    pub(crate) fn sibling(&self, server: Server) -> Self {
        let shared = (self.mode.library.clone(), self.outage.log_limiter.clone());
        Self::new(server, self.timeouts, None, self.durability.clone(), shared)
    }

    /// A plain command, with the error as Redis sent it.
    pub(crate) async fn send_plain(&self, asking: bool, command: &Cmd) -> Result<Value, CallError> {
        self.send(Route { slot: None, asking }, command).await
    }
}

/// `ASKING` is valid only for the next command of the same connection, so both are sent as one.
pub(super) async fn send_asking(connection: &mut MultiplexedConnection, command: &Cmd) -> Result<Value, RedisError> {
    let mut both = redis::pipe();
    both.add_command(redis::cmd("ASKING")).add_command(command.clone());
    let answers = connection.req_packed_commands(&both, 0, 2).await?;
    answers.into_iter().try_fold(Value::Nil, |_, answer| answer.extract_error())
}
