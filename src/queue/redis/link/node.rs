//! What a cluster asks of the links to its nodes.

use redis::{Cmd, RedisError, Value, aio::ConnectionLike, aio::MultiplexedConnection};

use std::sync::atomic::Ordering;

use super::{Link, Server};

impl Link {
    /// A link of the same kind to another node.
    pub(in crate::queue::redis) fn sibling(&self, server: Server) -> Result<Self, RedisError> {
        Self::build(server, None, self.form.fresh())
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
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
