//! The questions to a sentinel, and the choice between their answers.

use std::collections::HashMap;

use redis::{AsyncConnectionConfig, RedisError, aio::MultiplexedConnection};

use super::{HostPort, Sentinels, Unnamed};
use crate::link::{describe, is_refusal};

/// The primary by one sentinel, and the epoch of the election that chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPrimary {
    pub(super) address: HostPort,
    pub(super) epoch: u64,
}

impl Sentinels {
    /// Asks all sentinels; one that knows the primary is enough.
    pub(super) async fn ask_all(&self) -> Result<HostPort, Unnamed> {
        let asked = self.clients.iter().map(|(sentinel, client)| async move {
            let connection = client.get_multiplexed_async_connection_with_config(&self.config()).await;
            let answer = match connection {
                Ok(mut connection) => self.ask(&mut connection).await,
                Err(e) => Err(e),
            };
            answer.map_err(|e| (format!("{sentinel}: {}", describe(&e)), is_refusal(&e)))
        });
        let answers = futures_util::future::join_all(asked).await;
        if let Some(address) = newest(answers.iter().filter_map(|answer| answer.as_ref().ok()?.as_ref())) {
            return Ok(address);
        }
        let failed: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        // One that is away may know more than those that are there.
        let is_refusal = failed.iter().all(|(_, is_refusal)| *is_refusal);
        let reasons: Vec<_> = failed.iter().map(|(why, _)| why.as_str()).collect();
        let why = match failed.len() == answers.len() {
            true => format!("no sentinel answers: {}", reasons.join("; ")),
            false => format!("the sentinels know no primary that is called {}", self.name()),
        };
        Err(Unnamed { why, is_refusal })
    }

    /// `None` if the sentinel knows no primary of this name.
    pub(super) async fn ask(&self, connection: &mut MultiplexedConnection) -> Result<Option<NamedPrimary>, RedisError> {
        let mut command = redis::cmd("SENTINEL");
        command.arg("GET-MASTER-ADDR-BY-NAME").arg(self.name());
        let Some(announced) = command.query_async::<Option<HostPort>>(connection).await? else {
            return Ok(None);
        };
        let master: HashMap<String, String> =
            redis::cmd("SENTINEL").arg("MASTER").arg(self.name()).query_async(connection).await?;
        let address = self.settings.address_map.get(&announced).cloned().unwrap_or(announced);
        let epoch = master.get("config-epoch").and_then(|epoch| epoch.parse().ok()).unwrap_or(0);
        Ok(Some(NamedPrimary { address, epoch }))
    }

    /// For a connection to a sentinel, or one that asks whether a server is a primary.
    pub(super) fn config(&self) -> AsyncConnectionConfig {
        let limit = self.settings.timeouts.connect();
        AsyncConnectionConfig::new().set_connection_timeout(Some(limit)).set_response_timeout(Some(limit))
    }
}

/// The answer of the latest election; a sentinel that has missed it still names the previous primary.
pub(super) fn newest<'a>(answers: impl Iterator<Item = &'a NamedPrimary>) -> Option<HostPort> {
    answers.max_by_key(|answer| answer.epoch).map(|answer| answer.address.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primary_of_the_latest_election_wins_against_a_majority() {
        let answer = |host: &str, epoch| NamedPrimary { address: (host.to_owned(), 1), epoch };
        let answers = [answer("old", 3), answer("new", 4), answer("old", 3)];
        assert_eq!(newest(answers.iter()), Some(("new".to_owned(), 1)));
        assert_eq!(newest([].iter()), None);
    }
}
