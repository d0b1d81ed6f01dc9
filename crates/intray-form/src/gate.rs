//! From a text to a form: what the table of keywords does not take is refused with its place.

mod choice;
mod reference;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use regex::{Regex, RegexBuilder};

use crate::{
    Fault, Format, Owner, Place, check,
    fault::{Faults, Path},
    json::{self, Node},
    keywords, limits,
    shape::{Field, Kind, List, Member, Number, Object, Options, Text},
};

pub(crate) fn parse(text: &str, owner: Owner) -> Result<Object, Vec<Fault>> {
    let mut faults = Faults::default();
    if text.len() > limits::FORM {
        faults.add(&Path::Root, format!("must have at most {} bytes", limits::FORM));
        return Err(faults.into_list());
    }
    match json::read(text, &mut faults) {
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
    root: *const Node<'f>,
    definitions: &'f [(Cow<'f, str>, Node<'f>)],
    /// The definitions on the way to this schema.
    way: Vec<&'f str>,
    used: HashSet<&'f str>,
    /// The schemas that were checked, so that many references to one cost little.
    seen: HashSet<*const Node<'f>>,
    /// By the schema that has them, so that a definition is counted and kept once.
    properties: HashMap<*const Node<'f>, usize>,
    options: HashMap<*const Node<'f>, Options>,
    patterns: HashMap<*const Node<'f>, Option<Regex>>,
    faults: Faults,
}

impl<'f> Gate<'f> {
    fn of(root: &'f Node<'f>, owner: Owner) -> Self {
        Self {
            owner,
            root,
            definitions: root.get("$defs").map_or(&[], Node::members),
            way: Vec::new(),
            used: HashSet::new(),
            seen: HashSet::new(),
            properties: HashMap::new(),
            options: HashMap::new(),
            patterns: HashMap::new(),
            faults: Faults::default(),
        }
    }

    fn form(mut self, root: &'f Node<'f>) -> Result<Object, Vec<Fault>> {
        let field = self.field(root, &Path::Root, Level::Form);
        if self.faults.is_empty() {
            self.refuse_unused();
        }
        match field {
            Some(Field { kind: Kind::Object(object), .. }) if self.faults.is_empty() => Ok(object),
            _ => Err(self.faults.into_list()),
        }
    }

    /// Returns nothing only after a fault.
    fn field(&mut self, node: &'f Node<'f>, path: &Path, level: Level) -> Option<Field> {
        if self.faults.is_full() {
            return None;
        }
        let place = self.place(node, path)?;
        let places = if std::ptr::eq(node, self.root) { &[Place::Root, place][..] } else { &[place] };
        let is_new = self.seen.insert(node);
        if is_new {
            keywords::check(node, places, path, &mut self.faults);
        }
        self.allow(place, node, path, level)?;
        let field = match place {
            Place::Reference => self.reference(node, path, level),
            Place::Nullable => self.nullable(node, path, level),
            _ => {
                let is_nullable =
                    node.get("type").and_then(keywords::types).is_some_and(|(_, is_nullable)| is_nullable);
                self.kind(place, node, path, level).map(|kind| Field { kind, is_nullable })
            }
        }?;
        if let Some(default) = node.get("default").filter(|_| is_new) {
            self.check_default(&field, default, &path.member("default"));
        }
        Some(field)
    }

    fn check_default(&mut self, field: &Field, default: &Node, path: &Path) {
        let mut faults = Faults::default();
        check::field(field, default, path, &mut faults);
        for fault in faults.into_list() {
            self.faults.add_at(fault.pointer, format!("the default does not fit: {}", fault.detail));
        }
    }

    fn place(&mut self, node: &Node, path: &Path) -> Option<Place> {
        let Node::Object(_) = node else {
            self.faults.add(path, "must be a schema, an object");
            return None;
        };
        let has = |names: &[&str]| names.iter().any(|name| node.get(name).is_some());
        if has(&["$ref", "allOf"]) {
            return Some(Place::Reference);
        } else if reference::is_nullable(node) {
            return Some(Place::Nullable);
        } else if has(&["enum", "const", "oneOf", "anyOf"]) {
            return Some(Place::Choice);
        }
        let Some(kind) = node.get("type") else {
            self.faults.add(path, "`type` must be there");
            return None;
        };
        match keywords::types(kind).map(|(name, _)| name) {
            Some("string") => Some(Place::Text),
            Some("number" | "integer") => Some(Place::Number),
            Some("boolean") => Some(Place::Boolean),
            Some("array") => Some(Place::List),
            Some("object") => Some(Place::Object),
            _ => {
                let types = "string, number, integer, boolean, array or object, or a list of one of them and \"null\"";
                self.faults.add(&path.member("type"), format!("`type` must be {types}"));
                None
            }
        }
    }

    /// Whether a schema of this kind may stand here.
    fn allow(&mut self, place: Place, node: &Node, path: &Path, level: Level) -> Option<()> {
        let is_nullable = place == Place::Nullable || matches!(node.get("type"), Some(Node::List(_)));
        let detail = match (level, place) {
            (_, Place::Reference) => return Some(()),
            (Level::Form, Place::Object) if is_nullable => "a form must not be null",
            (Level::Form, Place::Object) => return Some(()),
            (Level::Form, _) => "the `type` of a form must be object",
            (Level::Grouped, Place::Object) => "a group must not have a group",
            (Level::Items, Place::Choice) if !is_nullable => return Some(()),
            (Level::Items, _) => "the items of a list must be options: `enum`, or `anyOf` of `const` and `title`",
            _ => return Some(()),
        };
        self.faults.add(path, detail);
        None
    }

    fn kind(&mut self, place: Place, node: &'f Node<'f>, path: &Path, level: Level) -> Option<Kind> {
        let number = |name: &str| node.get(name).and_then(Node::number);
        Some(match place {
            Place::Object => Kind::Object(self.object(node, path, level)?),
            Place::Choice => Kind::Choice(self.choice(node, path)?),
            Place::Text => Kind::Text(Text {
                min: number("minLength"),
                max: number("maxLength"),
                format: self.format(node, path),
                pattern: self.pattern(node, path),
            }),
            Place::Number => Kind::Number(Number {
                is_whole: node.get("type").and_then(keywords::types).is_some_and(|(name, _)| name == "integer"),
                min: number("minimum"),
                max: number("maximum"),
                above: number("exclusiveMinimum"),
                below: number("exclusiveMaximum"),
                step: number("multipleOf").filter(|&step| step > 0.0),
            }),
            Place::List => Kind::List(List {
                options: self.items(node, path)?,
                min: number("minItems"),
                max: number("maxItems"),
                is_unique: node.get("uniqueItems").is_some_and(Node::is_true),
            }),
            Place::Boolean => Kind::Boolean,
            Place::Root | Place::Option | Place::Reference | Place::Nullable | Place::Null => return None,
        })
    }

    fn object(&mut self, node: &'f Node<'f>, path: &Path, level: Level) -> Option<Object> {
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
        let is_closed = matches!(node.get("additionalProperties"), Some(Node::Boolean(false)));
        Some(Object { members, index, is_closed })
    }

    fn required(&mut self, node: &'f Node<'f>, properties: &Node, path: &Path) -> Vec<&'f str> {
        let path = path.member("required");
        let names: Vec<_> = node.get("required").map_or(&[][..], Node::items).iter().filter_map(Node::text).collect();
        for (index, name) in names.iter().enumerate() {
            if properties.get(name).is_none() {
                self.faults.add(&path.item(index), "`required` must name a property");
            }
        }
        names
    }

    fn format(&mut self, node: &Node, path: &Path) -> Option<Format> {
        let format = Format::parse(node.get("format")?.text()?);
        if format.is_none() {
            self.faults.add(&path.member("format"), "`format` must be email, uri, date or date-time");
        }
        format
    }

    fn pattern(&mut self, node: &'f Node<'f>, path: &Path) -> Option<Regex> {
        let path = path.member("pattern");
        let pattern = node.get("pattern")?;
        if self.owner == Owner::Job {
            self.faults.add(&path, "`pattern` is a keyword of a queue's form only");
            return None;
        }
        if !self.patterns.contains_key(&std::ptr::from_ref(pattern)) {
            let compiled = compile(pattern.text()?).inspect_err(|detail| self.faults.add(&path, *detail)).ok();
            self.patterns.insert(pattern, compiled);
            if self.patterns.len() > limits::PATTERNS {
                self.faults.add(&path, format!("a form must have at most {} patterns", limits::PATTERNS));
            }
        }
        self.patterns.get(&std::ptr::from_ref(pattern)).cloned().flatten()
    }

    /// Keeps the options of a choice; a definition's are counted once.
    fn keep(&mut self, node: &'f Node<'f>, options: Vec<&str>, path: &Path) -> Option<Options> {
        let options: Options = Arc::new(options.into_iter().map(Into::into).collect());
        self.options.insert(node, options.clone());
        if self.options.values().map(|options| options.len()).sum::<usize>() > limits::OPTIONS {
            self.faults.add(path, format!("a form must have at most {} options", limits::OPTIONS));
            return None;
        }
        Some(options)
    }
}

fn compile(pattern: &str) -> Result<Regex, &'static str> {
    let rules = "`pattern` must be a regular expression without look-around and back references";
    let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|()| rules)?;
    let built = RegexBuilder::new(&translated).size_limit(limits::PATTERN_SIZE).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "`pattern` is too large once it is compiled",
        _ => rules,
    })
}
