//! What is asked of a sentinel, and which answer counts.

use redis::{AsyncConnectionConfig, RedisError, Value, aio::MultiplexedConnection};

use super::{super::link::in_words, Place, Sentinels};

/// Which server a sentinel takes for the primary, and since which of their elections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) place: Place,
    pub(super) epoch: u64,
}

impl Sentinels {
    /// Asks them all; who is reached and knows the primary is enough.
    pub(super) async fn ask_all(&self) -> Result<Place, String> {
        let asked = self.clients.iter().map(|(place, client)| async move {
            let connection = client.get_multiplexed_async_connection_with_config(&config()).await;
            let answer = match connection {
                Ok(mut connection) => self.ask(&mut connection).await,
                Err(e) => Err(e),
            };
            answer.map_err(|e| format!("{place}: {}", in_words(&e)))
        });
        let answers = futures_util::future::join_all(asked).await;
        if let Some(place) = newest(answers.iter().filter_map(|answer| answer.as_ref().ok()?.as_ref())) {
            return Ok(place);
        }
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err().map(String::as_str)).collect();
        match refused.len() == answers.len() {
            true => Err(format!("no sentinel answers: {}", refused.join("; "))),
            false => Err(format!("the sentinels know no primary that is called {}", self.name())),
        }
    }

    /// Nothing when it knows no such primary.
    pub(super) async fn ask(&self, connection: &mut MultiplexedConnection) -> Result<Option<Answer>, RedisError> {
        let mut where_is = redis::cmd("SENTINEL");
        where_is.arg("GET-MASTER-ADDR-BY-NAME").arg(self.name());
        let Some((host, port)) = where_is.query_async::<Option<(String, u16)>>(connection).await? else {
            return Ok(None);
        };
        let master: Value = redis::cmd("SENTINEL").arg("MASTER").arg(self.name()).query_async(connection).await?;
        let announced = (host, port);
        let place = self.wanted.map.get(&announced).cloned().unwrap_or(announced);
        Ok(Some(Answer { place, epoch: epoch(&master) }))
    }
}

pub(super) fn config() -> AsyncConnectionConfig {
    let patience = Some(crate::job::budget::CONNECT);
    AsyncConnectionConfig::new().set_connection_timeout(patience).set_response_timeout(patience)
}

/// That of the latest election: who has not heard of it still names the one before.
pub(super) fn newest<'a>(answers: impl Iterator<Item = &'a Answer>) -> Option<Place> {
    answers.max_by_key(|answer| answer.epoch).map(|answer| answer.place.clone())
}

/// Names and values, as a list or as pairs.
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
    fn the_answer_of_the_latest_election_counts_however_many_still_give_another() {
        let text = |text: &str| Value::BulkString(text.into());
        let list = Value::Array(["name", "m", "config-epoch", "7"].map(text).to_vec());
        let map = Value::Map(vec![(text("name"), text("m")), (text("config-epoch"), text("7"))]);
        assert_eq!((epoch(&list), epoch(&map), epoch(&Value::Nil)), (7, 7, 0));
        let answer = |host: &str, epoch| Answer { place: (host.to_owned(), 1), epoch };
        let answers = [answer("old", 3), answer("new", 4), answer("old", 3)];
        assert_eq!(newest(answers.iter()), Some(("new".to_owned(), 1)));
        assert_eq!(newest([].iter()), None);
    }
}
