//! The one table of keywords. The parser refuses what it does not list, and the docs print it.

use crate::{
    fault::{Faults, Path, cut},
    json::JsonNode,
    limits,
};
use KeywordValue as Value;
use SchemaKind::{Boolean, Choice, List, Null, Nullable, Number, Object, Reference, Root, Text};

/// What a schema is, as far as the form is concerned; it decides which keywords are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaKind {
    /// The whole form, in addition to what it has as an object or a reference.
    Root,
    /// The form, or a group of its properties.
    Object,
    Text,
    Choice,
    /// One of a choice's `oneOf` or `anyOf`.
    Option,
    Number,
    Boolean,
    List,
    Reference,
    /// `anyOf` of a schema and null.
    Nullable,
    /// The null of it.
    Null,
}

impl SchemaKind {
    /// With its article, for a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "the whole form",
            Self::Object => "an object",
            Self::Text => "a text",
            Self::Choice => "a choice",
            Self::Option => "an option",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::List => "a list of options",
            Self::Reference => "a reference",
            Self::Nullable => "`anyOf` of a schema and null",
            Self::Null => "null",
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Keyword {
    pub name: &'static str,
    /// Where it is allowed.
    pub kinds: &'static [SchemaKind],
    /// What its value must be.
    pub value: KeywordValue,
    /// What it means for a result.
    pub meaning: &'static str,
    /// What a page makes of it.
    pub drawn: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordValue {
    Type,
    Text,
    Dialect,
    Count,
    Number,
    Positive,
    Boolean,
    /// Texts, each once.
    Texts,
    /// At least one text, each once.
    Options,
    Schema,
    Schemas,
    NamedSchemas,
    List,
    Anything,
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

impl KeywordValue {
    pub fn rule(self) -> &'static str {
        match self {
            Self::Type => "must be the name of a type, or a list of one and \"null\"",
            Self::Text => "must be a text",
            Self::Dialect => "must be https://json-schema.org/draft/2020-12/schema",
            Self::Count => "must be a whole number, at least 0",
            Self::Number => "must be a number",
            Self::Positive => "must be a number above 0",
            Self::Boolean => "must be true or false",
            Self::Texts => "must be a list of texts, each once",
            Self::Options => "must be a list of texts, at least one and each once",
            Self::Schema => "must be an object that is a schema",
            Self::Schemas => "must be a list of schemas, at least one",
            Self::NamedSchemas => "must be an object of schemas",
            Self::List => "must be a list",
            Self::Anything => "may be anything",
        }
    }

    fn takes(self, node: &JsonNode) -> bool {
        match self {
            Self::Type => types(node).is_some(),
            Self::Text => node.text().is_some(),
            Self::Dialect => node.text() == Some(DIALECT),
            Self::Count => node.number().is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            Self::Number => node.number().is_some(),
            Self::Positive => node.number().is_some_and(|number| number > 0.0),
            Self::Boolean => matches!(node, JsonNode::Boolean(_)),
            Self::Texts => is_set_of_texts(node),
            Self::Options => is_set_of_texts(node) && !node.items().is_empty(),
            Self::Schema | Self::NamedSchemas => matches!(node, JsonNode::Object(_)),
            Self::Schemas => !node.items().is_empty(),
            Self::List => matches!(node, JsonNode::List(_)),
            Self::Anything => true,
        }
    }
}

fn is_set_of_texts(node: &JsonNode) -> bool {
    let mut seen = std::collections::HashSet::new();
    matches!(node, JsonNode::List(_))
        && node.items().iter().all(|item| item.text().is_some_and(|text| seen.insert(text)))
}

/// The type that a schema names, and whether null is one too.
pub(crate) fn types<'n>(node: &'n JsonNode) -> Option<(&'n str, bool)> {
    match node {
        JsonNode::Text(name) => Some((name, false)),
        JsonNode::List(names) => match (names.first()?.text()?, names.get(1)?.text()?) {
            _ if names.len() > 2 => None,
            ("null", "null") => None,
            (name, "null") | ("null", name) => Some((name, true)),
            _ => None,
        },
        _ => None,
    }
}

const FIELDS: &[SchemaKind] = &[Object, Text, Choice, Number, Boolean, List, Reference, Nullable];
const FIELDS_AND_OPTION: &[SchemaKind] =
    &[SchemaKind::Option, Object, Text, Choice, Number, Boolean, List, Reference, Nullable];
const TYPED: &[SchemaKind] = &[Null, SchemaKind::Option, Object, Text, Choice, Number, Boolean, List];

const fn row(
    name: &'static str,
    kinds: &'static [SchemaKind],
    value: KeywordValue,
    meaning: &'static str,
    drawn: &'static str,
) -> Keyword {
    Keyword { name, kinds, value, meaning, drawn }
}

#[rustfmt::skip]
static KEYWORDS: [Keyword; 33] = [
    row("type", TYPED, Value::Type, "the value's type; with \"null\" it may be null", "which input there is"),
    row("properties", &[Object], Value::NamedSchemas, "the members, in the order of the form", "one input each"),
    row("required", &[Object], Value::Texts, "members that must be there", "the others are marked as optional"),
    row("additionalProperties", &[Object], Value::Boolean, "false refuses members that the form does not have", "not drawn"),
    row("title", FIELDS_AND_OPTION, Value::Text, "none", "the label"),
    row("description", FIELDS_AND_OPTION, Value::Text, "none", "a line below the label"),
    row("default", FIELDS, Value::Anything, "none; it must fit", "filled in; choices and booleans in a queue's form only"),
    row("enum", &[Choice], Value::Options, "one of these texts", "buttons up to nine, then a list with search"),
    row("const", &[Choice, SchemaKind::Option], Value::Text, "this text", "a button"),
    row("oneOf", &[Choice], Value::Schemas, "the `const` of one option", "buttons up to nine, then a list with search"),
    row("anyOf", &[Choice, Nullable], Value::Schemas, "as `oneOf`; or a schema and null: may be null", "as `oneOf`, or as the schema"),
    row("format", &[Text], Value::Text, "`email`, `uri`, `date` or `date-time`", "the browser's input of that kind"),
    row("minLength", &[Text], Value::Count, "at least this many characters", "a hint when it is wrong"),
    row("maxLength", &[Text], Value::Count, "at most this many characters", "one line up to 120, else a box that grows"),
    row("pattern", &[Text], Value::Text, "matches somewhere in the text; in a queue's form only", "not drawn: a page never runs it"),
    row("minimum", &[Number], Value::Number, "at least", "a number input; a whole number of up to nine values: buttons"),
    row("maximum", &[Number], Value::Number, "at most", "a number input; a whole number of up to nine values: buttons"),
    row("exclusiveMinimum", &[Number], Value::Number, "greater than", "a number input"),
    row("exclusiveMaximum", &[Number], Value::Number, "less than", "a number input"),
    row("multipleOf", &[Number], Value::Positive, "a multiple, exact in decimals", "a number input that names a wrong number"),
    row("items", &[List], Value::Schema, "each item is one of this choice", "check boxes"),
    row("minItems", &[List], Value::Count, "at least this many items", "a hint when it is wrong"),
    row("maxItems", &[List], Value::Count, "at most this many items", "a hint when it is wrong"),
    row("uniqueItems", &[List], Value::Boolean, "true: no item is there twice", "not drawn: a box is ticked once"),
    row("$ref", &[Reference], Value::Text, "what `#/$defs/NAME` is", "as the definition"),
    row("allOf", &[Reference], Value::Schemas, "of one `$ref`: as the `$ref`", "as the definition"),
    row("$defs", &[Root], Value::NamedSchemas, "what a `$ref` may name", "not drawn"),
    row("$schema", &[Root], Value::Dialect, "none", "not drawn"),
    row("$id", &[Root], Value::Text, "none", "not drawn"),
    row("$comment", FIELDS_AND_OPTION, Value::Text, "none", "not drawn"),
    row("examples", FIELDS_AND_OPTION, Value::List, "none", "not drawn"),
    row("deprecated", FIELDS_AND_OPTION, Value::Boolean, "none", "not drawn"),
    row("readOnly", FIELDS_AND_OPTION, Value::Boolean, "none", "not drawn"),
];

/// The whole vocabulary of a form.
pub fn keywords() -> &'static [Keyword] {
    &KEYWORDS
}

/// Adds a fault for each member of a schema that the table does not take there.
pub(crate) fn check(node: &JsonNode, kinds: &[SchemaKind], path: &Path, faults: &mut Faults) {
    for (name, value) in node.members() {
        let path = path.member(name);
        match KEYWORDS.iter().find(|keyword| keyword.name == name) {
            None => faults
                .add(&path, format!("`{}` is not a keyword of a form", cut(name.to_string(), limits::SHOWN_KEYWORD))),
            Some(keyword) if !keyword.kinds.iter().any(|kind| kinds.contains(kind)) => {
                faults.add(&path, misplaced(keyword, kinds));
            }
            Some(keyword) if !keyword.value.takes(value) => {
                faults.add(&path, format!("`{name}` {}", keyword.value.rule()));
            }
            Some(_) => {}
        }
    }
}

fn misplaced(keyword: &Keyword, kinds: &[SchemaKind]) -> String {
    let here = kinds.last().map_or("", |kind| kind.name());
    let allowed = match keyword.kinds {
        kinds if kinds.len() > 2 => "other schemas".to_owned(),
        kinds => kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or "),
    };
    format!("`{}` is not a keyword of {here}, only of {allowed}", keyword.name)
}
