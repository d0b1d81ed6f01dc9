//! Reads the replies of scripts. An unexpected reply is a [`Fault::Broken`], never a panic.

use redis::Value;

use crate::job::{Code, EligibilityRule, Millis, State};
use intray_redis::Fault;

pub(crate) fn broken(what: &str) -> Fault {
    Fault::Broken(format!("{what} was expected"))
}

/// The first word of a reply.
pub(crate) fn word(value: &Value) -> Option<&str> {
    Fields::of(value).ok()?.word().ok()
}

/// One field of a reply, borrowed.
#[derive(Clone, Copy)]
enum ReplyField<'v> {
    Text(&'v [u8]),
    Number(i64),
    List(&'v [Value]),
    Other,
}

impl<'v> ReplyField<'v> {
    fn of(value: &'v Value) -> Self {
        match value {
            Value::BulkString(bytes) => Self::Text(bytes),
            Value::SimpleString(text) => Self::Text(text.as_bytes()),
            Value::Int(n) => Self::Number(*n),
            Value::Array(items) => Self::List(items),
            _ => Self::Other,
        }
    }
}

/// The fields of a reply, read one after the other without copying.
#[derive(Clone)]
pub(crate) struct Fields<'v>(FieldSource<'v>);

#[derive(Clone)]
enum FieldSource<'v> {
    List(std::slice::Iter<'v, Value>),
    /// The words of one text; `None` after the last.
    Words(Option<&'v [u8]>),
}

impl<'v> Fields<'v> {
    pub(crate) fn of(value: &'v Value) -> Result<Self, Fault> {
        Self::within(ReplyField::of(value))
    }

    fn within(field: ReplyField<'v>) -> Result<Self, Fault> {
        let source = match field {
            ReplyField::List(items) => FieldSource::List(items.iter()),
            ReplyField::Text(words) => FieldSource::Words(Some(words)),
            ReplyField::Number(_) | ReplyField::Other => return Err(broken("a list")),
        };
        Ok(Self(source))
    }

    fn next(&mut self) -> Option<ReplyField<'v>> {
        match &mut self.0 {
            FieldSource::List(items) => items.next().map(ReplyField::of),
            FieldSource::Words(words) => {
                let text = words.take()?;
                let Some(end) = text.iter().position(|&byte| byte == b' ') else { return Some(ReplyField::Text(text)) };
                *words = Some(&text[end + 1..]);
                Some(ReplyField::Text(&text[..end]))
            }
        }
    }

    pub(crate) fn slice(&mut self) -> Result<&'v [u8], Fault> {
        match self.next() {
            Some(ReplyField::Text(bytes)) => Ok(bytes),
            Some(ReplyField::Number(_) | ReplyField::List(_) | ReplyField::Other) | None => Err(broken("text")),
        }
    }

    pub(crate) fn word(&mut self) -> Result<&'v str, Fault> {
        std::str::from_utf8(self.slice()?).map_err(|_| broken("UTF-8"))
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Fault> {
        self.slice().map(<[u8]>::to_vec)
    }

    pub(crate) fn text(&mut self) -> Result<String, Fault> {
        self.word().map(str::to_owned)
    }

    pub(crate) fn code(&mut self) -> Result<Code, Fault> {
        Code::parse(self.word()?).ok_or_else(|| broken("a job's code"))
    }

    pub(crate) fn state(&mut self) -> Result<State, Fault> {
        State::parse(self.word()?).ok_or_else(|| broken("a state"))
    }

    /// The rule that keeps a worker from a job.
    pub(crate) fn rule(&mut self) -> Result<EligibilityRule, Fault> {
        EligibilityRule::parse(self.word()?).ok_or_else(|| broken("a rule"))
    }

    pub(crate) fn integer(&mut self) -> Result<i64, Fault> {
        let n = match self.next() {
            Some(ReplyField::Number(n)) => Some(n),
            Some(ReplyField::Text(digits)) => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
            Some(ReplyField::List(_) | ReplyField::Other) | None => None,
        };
        n.ok_or_else(|| broken("a number"))
    }

    pub(crate) fn count(&mut self) -> Result<u64, Fault> {
        u64::try_from(self.integer()?).map_err(|_| broken("a count"))
    }

    /// A count; a negative number means none.
    pub(crate) fn maybe(&mut self) -> Result<Option<u64>, Fault> {
        Ok(u64::try_from(self.integer()?).ok())
    }

    /// A count; an empty text means none.
    pub(crate) fn maybe_empty(&mut self) -> Result<Option<u64>, Fault> {
        let mut same = self.clone();
        if same.slice().is_ok_and(<[u8]>::is_empty) {
            *self = same;
            return Ok(None);
        }
        self.count().map(Some)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Fault> {
        Ok(self.integer()? != 0)
    }

    pub(crate) fn time(&mut self) -> Result<Millis, Fault> {
        Ok(Millis(self.count()?))
    }

    pub(crate) fn list(&mut self) -> Result<Self, Fault> {
        Self::within(self.next().unwrap_or(ReplyField::Other))
    }

    pub(crate) fn skip(&mut self) {
        self.next();
    }

    pub(crate) fn is_done(&self) -> bool {
        match &self.0 {
            FieldSource::List(items) => items.len() == 0,
            FieldSource::Words(words) => words.is_none(),
        }
    }

    /// The remaining fields, as lists.
    pub(crate) fn lists(mut self) -> impl Iterator<Item = Result<Self, Fault>> {
        std::iter::from_fn(move || self.next().map(Self::within))
    }

    /// The remaining fields, as pairs of texts.
    pub(crate) fn pairs(mut self) -> Result<Vec<(String, String)>, Fault> {
        let mut pairs = Vec::new();
        while !self.is_done() {
            pairs.push((self.text()?, self.text()?));
        }
        Ok(pairs)
    }
}
