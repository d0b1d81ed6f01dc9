//! Reading what scripts answer. Whatever does not fit is a [`Fault::Broken`], never a panic.

use redis::Value;

use crate::job::{Code, Millis, State};
use crate::queue::fault::Fault;

pub(crate) fn broken(what: &str) -> Fault {
    Fault::Broken(format!("{what} was expected"))
}

/// The first word of an answer.
pub(crate) fn word(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.first().and_then(word),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// The fields of an answer, taken one after the other.
pub(crate) struct Fields(std::vec::IntoIter<Value>);

impl Fields {
    pub(crate) fn of(value: Value) -> Result<Self, Fault> {
        match value {
            Value::Array(items) => Ok(Self(items.into_iter())),
            _ => Err(broken("a list")),
        }
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Fault> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            Some(Value::SimpleString(text)) => Ok(text.into_bytes()),
            _ => Err(broken("text")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Fault> {
        String::from_utf8(self.bytes()?).map_err(|_| broken("UTF-8"))
    }

    pub(crate) fn code(&mut self) -> Result<Code, Fault> {
        Code::parse(&self.text()?).ok_or_else(|| broken("a job's code"))
    }

    pub(crate) fn state(&mut self) -> Result<State, Fault> {
        State::parse(&self.text()?).ok_or_else(|| broken("a state"))
    }

    pub(crate) fn integer(&mut self) -> Result<i64, Fault> {
        match self.0.next() {
            Some(Value::Int(n)) => Ok(n),
            _ => Err(broken("a number")),
        }
    }

    pub(crate) fn count(&mut self) -> Result<u64, Fault> {
        u64::try_from(self.integer()?).map_err(|_| broken("a count"))
    }

    /// A count, or a negative number for none.
    pub(crate) fn maybe(&mut self) -> Result<Option<u64>, Fault> {
        Ok(u64::try_from(self.integer()?).ok())
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Fault> {
        Ok(self.integer()? != 0)
    }

    pub(crate) fn time(&mut self) -> Result<Millis, Fault> {
        Ok(Millis(self.count()?))
    }

    pub(crate) fn list(&mut self) -> Result<Self, Fault> {
        Self::of(self.0.next().ok_or_else(|| broken("a list"))?)
    }

    /// What is in a list.
    pub(crate) fn values_of_list(&mut self) -> Result<Vec<Value>, Fault> {
        match self.0.next() {
            Some(Value::Array(items)) => Ok(items),
            _ => Err(broken("a list")),
        }
    }

    /// The rest, as they are.
    pub(crate) fn values(self) -> impl Iterator<Item = Value> {
        self.0
    }

    pub(crate) fn skip(&mut self) {
        self.0.next();
    }

    pub(crate) fn is_done(&self) -> bool {
        self.0.len() == 0
    }

    /// The rest, as lists.
    pub(crate) fn lists(self) -> impl Iterator<Item = Result<Self, Fault>> {
        self.0.map(Self::of)
    }

    /// The rest, as pairs of texts.
    pub(crate) fn pairs(mut self) -> Result<Vec<(String, String)>, Fault> {
        let mut pairs = Vec::new();
        while !self.is_done() {
            pairs.push((self.text()?, self.text()?));
        }
        Ok(pairs)
    }
}
