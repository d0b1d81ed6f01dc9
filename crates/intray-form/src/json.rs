//! JSON as a form needs it: a member that is there twice, half a character and a number beyond a double are faults with a
//! place. Numbers are the doubles that a browser reads.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::HashSet,
    fmt,
};

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, value::RawValue};

use crate::{
    fault::{Faults, Path},
    limits,
    shape::{FieldKind, ObjectRules},
};

const FEW_NAMES: usize = 16;

pub(crate) enum JsonNode<'t> {
    Null,
    Boolean(bool),
    Number(f64),
    Text(Cow<'t, str>),
    List(Vec<JsonNode<'t>>),
    Object(Vec<(Cow<'t, str>, JsonNode<'t>)>),
}

impl<'t> JsonNode<'t> {
    pub fn members(&self) -> &[(Cow<'t, str>, JsonNode<'t>)] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    pub fn get(&self, name: &str) -> Option<&JsonNode<'t>> {
        self.members().iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    pub fn items(&self) -> &[JsonNode<'t>] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    pub fn is_true(&self) -> bool {
        matches!(self, Self::Boolean(true))
    }
}

/// Returns nothing if the text cannot be read. A member that is there twice is a fault, but the text is read.
pub(crate) fn read<'t>(text: &'t str, wanted: KeptParts, faults: &mut Faults) -> Option<JsonNode<'t>> {
    let state = JsonReaderState { faults: RefCell::new(std::mem::take(faults)), stopped_at: Cell::new(None) };
    let mut deserializer = Deserializer::from_str(text);
    let read = ValueSeed { path: Path::Root, wanted, state: &state }.deserialize(&mut deserializer);
    let read = read.and_then(|node| deserializer.end().map(|()| node));
    *faults = state.faults.into_inner();
    match read {
        Ok(node) => Some(node),
        Err(error) => {
            let (pointer, detail) = match why(text, &error) {
                Unreadable::Json => (String::new(), "is not JSON"),
                Unreadable::Depth => (String::new(), "is nested too deep"),
                Unreadable::Number => {
                    (state.stopped_at.take().unwrap_or_default(), "must be a number that a double holds")
                }
                Unreadable::Text => {
                    (state.stopped_at.take().unwrap_or_default(), "must not have one half of a surrogate pair alone")
                }
            };
            faults.add_at(pointer, detail);
            None
        }
    }
}

enum Unreadable {
    Json,
    Depth,
    Number,
    Text,
}

/// A raw value is checked for its grammar only, so what it takes fails for its number, its text or its depth.
fn why(text: &str, error: &serde_json::Error) -> Unreadable {
    let message = error.to_string();
    if serde_json::from_str::<&RawValue>(text).is_err() {
        Unreadable::Json
    } else if message.starts_with("recursion limit") {
        Unreadable::Depth
    } else if message.starts_with("number out of range") {
        Unreadable::Number
    } else {
        Unreadable::Text
    }
}

struct JsonReaderState {
    faults: RefCell<Faults>,
    /// The innermost value that could not be read.
    stopped_at: Cell<Option<String>>,
}

/// What is kept of a value. All of it is read, so that what a double, a text or an object cannot be is found everywhere.
#[derive(Clone, Copy)]
pub(crate) enum KeptParts<'w> {
    All,
    /// The members that a form has; of others their names.
    Object(&'w ObjectRules),
    /// The items of a list, which are texts.
    Items,
    /// Whether it is a text, a list or an object.
    Kind,
}

impl<'w> KeptParts<'w> {
    fn member(self, name: &str) -> Self {
        let field = match self {
            Self::All => return self,
            Self::Object(rules) => rules.index.get(name).map(|&index| &rules.members[index].field.kind),
            Self::Items | Self::Kind => None,
        };
        match field {
            Some(FieldKind::Object(rules)) => Self::Object(rules),
            Some(FieldKind::List(_)) => Self::Items,
            _ => Self::Kind,
        }
    }

    fn item(self) -> Self {
        if matches!(self, Self::All) { self } else { Self::Kind }
    }

    /// One more than fits shows that there are too many.
    fn kept_items(self) -> usize {
        match self {
            Self::All => usize::MAX,
            Self::Items => limits::ITEMS + 1,
            Self::Object(_) | Self::Kind => 0,
        }
    }
}

struct ValueSeed<'v> {
    path: Path<'v>,
    wanted: KeptParts<'v>,
    state: &'v JsonReaderState,
}

impl<'t> DeserializeSeed<'t> for ValueSeed<'_> {
    type Value = JsonNode<'t>;

    fn deserialize<D: de::Deserializer<'t>>(self, deserializer: D) -> Result<JsonNode<'t>, D::Error> {
        let (path, state) = (self.path, self.state);
        deserializer.deserialize_any(self).inspect_err(|_| {
            let inner = state.stopped_at.take();
            state.stopped_at.set(inner.or_else(|| Some(path.pointer())));
        })
    }
}

impl ValueSeed<'_> {
    /// Few names are compared with each other, which costs less than a set for each of many small objects.
    fn refuse_repeated(&self, members: &[(Cow<str>, JsonNode)]) {
        let mut seen = HashSet::with_capacity(if members.len() > FEW_NAMES { members.len() } else { 0 });
        for (index, (name, _)) in members.iter().enumerate() {
            let is_repeated = match members.len() {
                ..=FEW_NAMES => members[..index].iter().any(|(other, _)| other == name),
                _ => !seen.insert(name.as_ref()),
            };
            if is_repeated {
                self.state.faults.borrow_mut().add(&self.path.member(name), "must be there once");
            }
        }
    }
}

impl<'t> Visitor<'t> for ValueSeed<'_> {
    type Value = JsonNode<'t>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<JsonNode<'t>, E> {
        Ok(JsonNode::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonNode<'t>, E> {
        Ok(JsonNode::Boolean(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "a number is the double nearest to it")]
    fn visit_u64<E>(self, value: u64) -> Result<JsonNode<'t>, E> {
        Ok(JsonNode::Number(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "a number is the double nearest to it")]
    fn visit_i64<E>(self, value: i64) -> Result<JsonNode<'t>, E> {
        Ok(JsonNode::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<JsonNode<'t>, E> {
        Ok(JsonNode::Number(value))
    }

    fn visit_borrowed_str<E>(self, value: &'t str) -> Result<JsonNode<'t>, E> {
        Ok(JsonNode::Text(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<JsonNode<'t>, E> {
        Ok(JsonNode::Text(value.to_owned().into()))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut list: A) -> Result<JsonNode<'t>, A::Error> {
        let (mut items, mut index) = (Vec::new(), 0);
        let (wanted, state) = (self.wanted.item(), self.state);
        while let Some(item) = list.next_element_seed(ValueSeed { path: self.path.item(index), wanted, state })? {
            if index < self.wanted.kept_items() {
                items.push(item);
            }
            index += 1;
        }
        Ok(JsonNode::List(items))
    }

    fn visit_map<A: MapAccess<'t>>(self, mut object: A) -> Result<JsonNode<'t>, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = object.next_key_seed(NameSeed)? {
            let (path, wanted) = (self.path.member(&name), self.wanted.member(&name));
            let value = object.next_value_seed(ValueSeed { path, wanted, state: self.state })?;
            members.push((name, value));
        }
        self.refuse_repeated(&members);
        Ok(JsonNode::Object(members))
    }
}

/// The name of a member, without a copy if it has no escapes.
struct NameSeed;

impl<'t> DeserializeSeed<'t> for NameSeed {
    type Value = Cow<'t, str>;

    fn deserialize<D: de::Deserializer<'t>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for NameSeed {
    type Value = Cow<'t, str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'t str) -> Result<Self::Value, E> {
        Ok(name.into())
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(name.to_owned().into())
    }
}
