//! Replies of scripts, in one form. An older program has fast paths, whose replies are shorter and count less.

use redis::Value;

/// What a script answers, and what it counted on the way.
#[derive(Debug)]
pub struct Reply {
    form: Form,
    pub items: Vec<Value>,
    pub counts: Vec<(String, String)>,
}

#[derive(Debug, PartialEq)]
enum Form {
    Fast,
    Full,
}

impl Reply {
    /// The order within a view's reply is that of the server's hashes, which no script decides.
    pub fn parse(raw: &[u8], is_view: bool) -> Self {
        let value = redis::parse_redis_value(raw).unwrap_or_else(|e| Value::SimpleString(e.to_string()));
        match value {
            Value::BulkString(bytes) if bytes.first() == Some(&0) => Self::from_packed(&bytes),
            Value::Array(parts) if text(parts.first()).starts_with("flat ") => Self::from_flat(parts),
            Value::Array(parts) if text(parts.first()) == "counted" => Self::from_counted(parts),
            value => {
                Self { form: Form::Full, items: vec![if is_view { sorted(value) } else { value }], counts: Vec::new() }
            }
        }
    }

    /// A fast path, if there may be any, counts only the total of its transition, and the batches that end.
    pub fn is_same(&self, other: &Self, has_fast_paths: bool) -> bool {
        if !has_fast_paths {
            return self.counts == other.counts && self.items == other.items;
        }
        let counts = |of: &Self, with: &Self| of.counts.iter().all(|count| with.counts.contains(count));
        let are_counted =
            (self.form == Form::Fast || counts(other, self)) && (other.form == Form::Fast || counts(self, other));
        are_counted && self.items == other.items
    }

    /// One string: NUL, the number of fields, their lengths, the fields; the first two are a total and its gain.
    fn from_packed(bytes: &[u8]) -> Self {
        let n = usize::from(u16::from_be_bytes([bytes[1], bytes[2]]));
        let (lengths, mut rest) = bytes[3..].split_at(n * 4);
        let mut fields = lengths.as_chunks::<4>().0.iter().map(|length| {
            let field;
            (field, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
            Value::BulkString(field.to_vec())
        });
        let count = (text(fields.next().as_ref()), text(fields.next().as_ref()));
        Self { form: Form::Fast, items: fields.collect(), counts: vec![count] }
    }

    /// A flat list: a total with its gain, the state of the queue, then of each call how many fields it has, and these.
    fn from_flat(parts: Vec<Value>) -> Self {
        let head = text(parts.first());
        let (total, gain) = head["flat ".len()..].split_once(' ').expect("a total and its gain");
        let counts = vec![(total.to_owned(), gain.to_owned())];
        let mut parts = parts.into_iter().skip(1);
        let mut items: Vec<_> = parts.by_ref().take(1).collect();
        while let Some(n) = parts.next() {
            let n = text(Some(&n)).parse().expect("a number of fields");
            items.push(Value::Array(parts.by_ref().take(n).collect()));
        }
        Self { form: Form::Fast, items, counts }
    }

    fn from_counted(mut parts: Vec<Value>) -> Self {
        let counts = parts.split_off(2);
        let mut counts: Vec<_> = counts.chunks(2).map(|pair| (text(pair.first()), text(pair.get(1)))).collect();
        counts.sort();
        // Without a stamp, because the full path has one wherever it counts these.
        let is_fast = counts.iter().any(|(name, _)| name == "completed" || name == "enqueued")
            && counts.iter().all(|(name, _)| name != "stamp");
        let items = match parts.pop() {
            Some(Value::Array(items)) => items,
            other => other.into_iter().collect(),
        };
        if is_fast {
            counts.sort_by_key(|(name, _)| name == "batch-completed");
        }
        Self { form: if is_fast { Form::Fast } else { Form::Full }, items, counts }
    }
}

pub fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::BulkString(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(Value::Int(n)) => n.to_string(),
        _ => String::new(),
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<_> = items.into_iter().map(sorted).collect();
            items.sort_by_cached_key(|item| format!("{item:?}"));
            Value::Array(items)
        }
        value => value,
    }
}

/// The fields of a hash by their names.
pub fn sorted_pairs(value: Value) -> Value {
    let Value::Array(items) = value else { return sorted(value) };
    sorted(Value::Array(items.chunks(2).map(|pair| Value::Array(pair.to_vec())).collect()))
}

/// How long the first reply in a buffer is; `None` when it is not all there.
pub fn length(buffer: &[u8]) -> Option<usize> {
    let end = buffer.windows(2).position(|pair| pair == b"\r\n")?;
    let number = || std::str::from_utf8(&buffer[1..end]).ok()?.parse::<i64>().ok();
    let mut at = end + 2;
    match buffer[0] {
        b'$' | b'=' => at += usize::try_from(number()?).map_or(0, |n| n + 2),
        b'*' | b'~' | b'>' | b'%' => {
            let items = usize::try_from(number()?).unwrap_or(0) * if buffer[0] == b'%' { 2 } else { 1 };
            for _ in 0..items {
                at += length(buffer.get(at..)?)?;
            }
        }
        _ => {}
    }
    (at <= buffer.len()).then_some(at)
}
