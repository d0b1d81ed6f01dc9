//! From a text to a form: what the table of keywords does not take is refused with its place.

mod choice;
mod reference;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    FormFault, Format, Owner, SchemaKind, check,
    fault::{Faults, Path},
    json::{self, JsonNode},
    keywords, limits,
    pattern::PatternAutomaton,
    shape::{FieldKind, FieldRules, ListRules, Member, NumberRules, ObjectRules, Options, TextRules},
};

pub(crate) fn parse_form(text: &str, owner: Owner) -> Result<ObjectRules, Vec<FormFault>> {
    let mut faults = Faults::default();
    if text.len() > limits::FORM {
        faults.add(&Path::Root, format!("must have at most {} bytes", limits::FORM));
        return Err(faults.into_list());
    }
    match json::read(text, json::KeptParts::All, &mut faults) {
        Some(root) if faults.is_empty() => Gate::of(&root, owner).form(&root),
        _ => Err(faults.into_list()),
    }
}

/// Where in a form a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Form,
    Property,
    /// A property of a group.
    Grouped,
    Items,
}

struct Gate<'f> {
    owner: Owner,
    root: *const JsonNode<'f>,
    definitions: &'f [(Cow<'f, str>, JsonNode<'f>)],
    /// The definitions on the way to this schema.
    way: Vec<&'f str>,
    used: HashSet<&'f str>,
    /// The schemas that were checked, so that many references to one cost little.
    seen: HashSet<*const JsonNode<'f>>,
    /// By the schema that has them, so that a definition is counted and kept once.
    properties: HashMap<*const JsonNode<'f>, usize>,
    options: HashMap<*const JsonNode<'f>, Options>,
    /// By their text.
    patterns: HashMap<&'f str, Option<Arc<PatternAutomaton>>>,
    /// The bytes that are left for patterns.
    pattern_room: usize,
    /// How many texts have a pattern, by each way they are reached.
    patterned: usize,
    faults: Faults,
}

impl<'f> Gate<'f> {
    fn of(root: &'f JsonNode<'f>, owner: Owner) -> Self {
        Self {
            owner,
            root,
            definitions: root.get("$defs").map_or(&[], JsonNode::members),
            way: Vec::new(),
            used: HashSet::new(),
            seen: HashSet::new(),
            properties: HashMap::new(),
            options: HashMap::new(),
            patterns: HashMap::new(),
            pattern_room: limits::PATTERN_SIZE,
            patterned: 0,
            faults: Faults::default(),
        }
    }

    fn form(mut self, root: &'f JsonNode<'f>) -> Result<ObjectRules, Vec<FormFault>> {
        let field = self.field(root, &Path::Root, Level::Form);
        if self.faults.is_empty() {
            self.refuse_unused();
        }
        match field {
            Some(FieldRules { kind: FieldKind::Object(object), .. }) if self.faults.is_empty() => Ok(object),
            _ => Err(self.faults.into_list()),
        }
    }

    /// Returns nothing only after a fault.
    fn field(&mut self, node: &'f JsonNode<'f>, path: &Path, level: Level) -> Option<FieldRules> {
        if self.faults.is_full() {
            return None;
        }
        let place = self.place(node, path)?;
        let places = if std::ptr::eq(node, self.root) { &[SchemaKind::Root, place][..] } else { &[place] };
        let is_new = self.seen.insert(node);
        if is_new {
            keywords::check(node, places, path, &mut self.faults);
        }
        self.allow(place, node, path, level)?;
        let field = match place {
            SchemaKind::Reference => self.reference(node, path, level),
            SchemaKind::Nullable => self.nullable(node, path, level),
            _ => {
                let is_nullable =
                    node.get("type").and_then(keywords::types).is_some_and(|(_, is_nullable)| is_nullable);
                self.kind(place, node, path, level).map(|kind| FieldRules { kind, is_nullable })
            }
        }?;
        if let Some(default) = node.get("default").filter(|_| is_new) {
            self.check_default(&field, default, &path.member("default"));
        }
        Some(field)
    }

    fn check_default(&mut self, field: &FieldRules, default: &JsonNode, path: &Path) {
        let mut faults = Faults::default();
        check::field(field, default, path, &mut faults);
        for fault in faults.into_list() {
            self.faults.add_at(fault.pointer, format!("the default does not fit: {}", fault.detail));
        }
    }

    fn place(&mut self, node: &JsonNode, path: &Path) -> Option<SchemaKind> {
        let JsonNode::Object(_) = node else {
            self.faults.add(path, "must be a schema, an object");
            return None;
        };
        let has = |names: &[&str]| names.iter().any(|name| node.get(name).is_some());
        if has(&["$ref", "allOf"]) {
            return Some(SchemaKind::Reference);
        } else if reference::is_nullable(node) {
            return Some(SchemaKind::Nullable);
        } else if has(&["enum", "const", "oneOf", "anyOf"]) {
            return Some(SchemaKind::Choice);
        }
        let Some(kind) = node.get("type") else {
            self.faults.add(path, "`type` must be there");
            return None;
        };
        match keywords::types(kind).map(|(name, _)| name) {
            Some("string") => Some(SchemaKind::Text),
            Some("number" | "integer") => Some(SchemaKind::Number),
            Some("boolean") => Some(SchemaKind::Boolean),
            Some("array") => Some(SchemaKind::List),
            Some("object") => Some(SchemaKind::Object),
            _ => {
                let types = "string, number, integer, boolean, array or object, or a list of one of them and \"null\"";
                self.faults.add(&path.member("type"), format!("`type` must be {types}"));
                None
            }
        }
    }

    /// Whether a schema of this kind may stand here.
    fn allow(&mut self, place: SchemaKind, node: &JsonNode, path: &Path, level: Level) -> Option<()> {
        let is_nullable = place == SchemaKind::Nullable || matches!(node.get("type"), Some(JsonNode::List(_)));
        let detail = match (level, place) {
            (_, SchemaKind::Reference) => return Some(()),
            (Level::Form, SchemaKind::Object) if is_nullable => "a form must not be null",
            (Level::Form, SchemaKind::Object) => return Some(()),
            (Level::Form, _) => "a form must be an object with `properties`",
            (Level::Grouped, SchemaKind::Object) => "a group must not have a group",
            (Level::Items, SchemaKind::Choice) if !is_nullable => return Some(()),
            (Level::Items, _) => "the items of a list must be options: `enum`, or `anyOf` of `const` and `title`",
            _ => return Some(()),
        };
        self.faults.add(path, detail);
        None
    }

    fn kind(&mut self, place: SchemaKind, node: &'f JsonNode<'f>, path: &Path, level: Level) -> Option<FieldKind> {
        let number = |name: &str| node.get(name).and_then(JsonNode::number);
        Some(match place {
            SchemaKind::Object => FieldKind::Object(self.object(node, path, level)?),
            SchemaKind::Choice => FieldKind::Choice(self.choice(node, path)?),
            SchemaKind::Text => FieldKind::Text(TextRules {
                min: number("minLength"),
                max: number("maxLength"),
                format: self.format(node, path),
                pattern: self.pattern(node, path),
            }),
            SchemaKind::Number => FieldKind::Number(NumberRules {
                is_whole: node.get("type").and_then(keywords::types).is_some_and(|(name, _)| name == "integer"),
                min: number("minimum"),
                max: number("maximum"),
                above: number("exclusiveMinimum"),
                below: number("exclusiveMaximum"),
                step: number("multipleOf").filter(|&step| step > 0.0),
            }),
            SchemaKind::List => FieldKind::List(ListRules {
                options: self.items(node, path)?,
                min: number("minItems"),
                max: number("maxItems"),
                is_unique: node.get("uniqueItems").is_some_and(JsonNode::is_true),
            }),
            SchemaKind::Boolean => FieldKind::Boolean,
            SchemaKind::Root | SchemaKind::Option | SchemaKind::Reference | SchemaKind::Nullable | SchemaKind::Null => {
                return None;
            }
        })
    }

    fn object(&mut self, node: &'f JsonNode<'f>, path: &Path, level: Level) -> Option<ObjectRules> {
        let Some(properties) = node.get("properties") else {
            self.faults.add(path, "`properties` must be there: an object without them cannot be drawn");
            return None;
        };
        let here = path.member("properties");
        self.properties.insert(properties, properties.members().len());
        if self.properties.values().sum::<usize>() > limits::PROPERTIES {
            self.faults.add(&here, format!("a form must have at most {} properties", limits::PROPERTIES));
            return None;
        }
        let required = self.required(node, properties, path);
        let inner = if level == Level::Form { Level::Property } else { Level::Grouped };
        let mut members = Vec::new();
        for (name, schema) in properties.members() {
            let is_required = required.contains(&name.as_ref());
            let field = self.field(schema, &here.member(name), inner);
            members.extend(field.map(|field| Member { name: name.as_ref().into(), is_required, field }));
        }
        let index = members.iter().enumerate().map(|(index, member)| (member.name.clone(), index)).collect();
        let is_closed = matches!(node.get("additionalProperties"), Some(JsonNode::Boolean(false)));
        Some(ObjectRules { members, index, is_closed })
    }

    fn required(&mut self, node: &'f JsonNode<'f>, properties: &JsonNode, path: &Path) -> Vec<&'f str> {
        let path = path.member("required");
        let names: Vec<_> =
            node.get("required").map_or(&[][..], JsonNode::items).iter().filter_map(JsonNode::text).collect();
        for (index, name) in names.iter().enumerate() {
            if properties.get(name).is_none() {
                self.faults.add(&path.item(index), "`required` must name a property");
            }
        }
        names
    }

    fn format(&mut self, node: &JsonNode, path: &Path) -> Option<Format> {
        let format = Format::parse(node.get("format")?.text()?);
        if format.is_none() {
            self.faults.add(&path.member("format"), "`format` must be email, uri, date or date-time");
        }
        format
    }

    fn pattern(&mut self, node: &'f JsonNode<'f>, path: &Path) -> Option<Arc<PatternAutomaton>> {
        let path = path.member("pattern");
        let pattern = node.get("pattern")?;
        if self.owner == Owner::Job {
            self.faults.add(&path, "`pattern` is a keyword of a queue's form only");
            return None;
        }
        self.patterned += 1;
        if self.patterned > limits::PATTERNS {
            self.faults.add(&path, format!("a form must have at most {} texts with a pattern", limits::PATTERNS));
            return None;
        }
        let text = pattern.text()?;
        if let Some(known) = self.patterns.get(text) {
            return known.clone();
        }
        let compiled = PatternAutomaton::compile(text, self.pattern_room);
        let compiled = compiled.inspect_err(|detail| self.faults.add(&path, *detail)).ok().map(Arc::new);
        // A form with one that is not taken costs no more than that.
        self.pattern_room = compiled.as_ref().map_or(0, |it| self.pattern_room.saturating_sub(it.size()));
        self.patterns.insert(text, compiled.clone());
        compiled
    }

    /// Keeps the options of a choice; a definition's are counted once.
    fn keep(&mut self, node: &'f JsonNode<'f>, options: Vec<&str>, path: &Path) -> Option<Options> {
        let options: Options = Arc::new(options.into_iter().map(Into::into).collect());
        self.options.insert(node, options.clone());
        if self.options.values().map(|options| options.len()).sum::<usize>() > limits::OPTIONS {
            self.faults.add(path, format!("a form must have at most {} options", limits::OPTIONS));
            return None;
        }
        Some(options)
    }
}
