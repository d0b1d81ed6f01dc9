//! The questions to a sentinel, and the choice between their answers.

use redis::{AsyncConnectionConfig, RedisError, Value, aio::MultiplexedConnection};

use super::{HostPort, Sentinels};
use crate::{link::describe, timeouts::CONNECT_TIMEOUT};

/// The primary by one sentinel, and the epoch of the election that chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPrimary {
    pub(super) address: HostPort,
    pub(super) epoch: u64,
}

impl Sentinels {
    /// Asks all sentinels; one that knows the primary is enough.
    pub(super) async fn ask_all(&self) -> Result<HostPort, String> {
        let asked = self.clients.iter().map(|(sentinel, client)| async move {
            let connection = client.get_multiplexed_async_connection_with_config(&config()).await;
            let answer = match connection {
                Ok(mut connection) => self.ask(&mut connection).await,
                Err(e) => Err(e),
            };
            answer.map_err(|e| format!("{sentinel}: {}", describe(&e)))
        });
        let answers = futures_util::future::join_all(asked).await;
        if let Some(address) = newest(answers.iter().filter_map(|answer| answer.as_ref().ok()?.as_ref())) {
            return Ok(address);
        }
        let failed: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err().map(String::as_str)).collect();
        match failed.len() == answers.len() {
            true => Err(format!("no sentinel answers: {}", failed.join("; "))),
            false => Err(format!("the sentinels know no primary that is called {}", self.name())),
        }
    }

    /// `None` if the sentinel knows no primary of this name.
    pub(super) async fn ask(&self, connection: &mut MultiplexedConnection) -> Result<Option<NamedPrimary>, RedisError> {
        let mut command = redis::cmd("SENTINEL");
        command.arg("GET-MASTER-ADDR-BY-NAME").arg(self.name());
        let Some(announced) = command.query_async::<Option<HostPort>>(connection).await? else {
            return Ok(None);
        };
        let master: Value = redis::cmd("SENTINEL").arg("MASTER").arg(self.name()).query_async(connection).await?;
        let address = self.settings.address_map.get(&announced).cloned().unwrap_or(announced);
        Ok(Some(NamedPrimary { address, epoch: epoch(&master) }))
    }
}

pub(super) fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(CONNECT_TIMEOUT))
}

/// The answer of the latest election; a sentinel that has missed it still names the previous primary.
pub(super) fn newest<'a>(answers: impl Iterator<Item = &'a NamedPrimary>) -> Option<HostPort> {
    answers.max_by_key(|answer| answer.epoch).map(|answer| answer.address.clone())
}

/// `SENTINEL MASTER` returns names and values, as a list (RESP2) or as a map (RESP3).
fn epoch(master: &Value) -> u64 {
    let text = |value: &Value| match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        _ => String::new(),
    };
    let find = |mut pairs: Box<dyn Iterator<Item = (&Value, &Value)> + '_>| {
        pairs.find(|(name, _)| text(name) == "config-epoch").and_then(|(_, value)| text(value).parse().ok())
    };
    let found = match master {
        Value::Map(pairs) => find(Box::new(pairs.iter().map(|(name, value)| (name, value)))),
        Value::Array(parts) => find(Box::new(parts.as_chunks().0.iter().map(|[name, value]| (name, value)))),
        _ => None,
    };
    found.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primary_of_the_latest_election_wins_against_a_majority() {
        let text = |text: &str| Value::BulkString(text.into());
        let list = Value::Array(["name", "m", "config-epoch", "7"].map(text).to_vec());
        let map = Value::Map(vec![(text("name"), text("m")), (text("config-epoch"), text("7"))]);
        assert_eq!((epoch(&list), epoch(&map), epoch(&Value::Nil)), (7, 7, 0));
        let answer = |host: &str, epoch| NamedPrimary { address: (host.to_owned(), 1), epoch };
        let answers = [answer("old", 3), answer("new", 4), answer("old", 3)];
        assert_eq!(newest(answers.iter()), Some(("new".to_owned(), 1)));
        assert_eq!(newest([].iter()), None);
    }
}
