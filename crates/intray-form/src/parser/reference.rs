//! `$ref`, `allOf` of one, and `anyOf` with null.

use super::{Gate, Level};
use crate::{SchemaKind, fault::Path, json::JsonNode, keywords, limits, shape::FieldRules};

/// Whether this is `anyOf` of two schemas, one of which is null.
pub(super) fn is_nullable(node: &JsonNode) -> bool {
    node.get("anyOf").is_some_and(|schemas| schemas.items().len() == 2 && schemas.items().iter().any(is_null))
}

fn is_null(node: &JsonNode) -> bool {
    node.get("type").and_then(JsonNode::text) == Some("null")
}

impl<'f> Gate<'f> {
    pub(super) fn nullable(&mut self, node: &'f JsonNode<'f>, path: &Path, level: Level) -> Option<FieldRules> {
        let path = path.member("anyOf");
        let mut inner = None;
        for (index, schema) in node.get("anyOf")?.items().iter().enumerate() {
            let path = path.item(index);
            if is_null(schema) {
                keywords::check(schema, &[SchemaKind::Null], &path, &mut self.faults);
            } else {
                inner = self.field(schema, &path, level);
            }
        }
        if inner.is_none() && self.faults.is_empty() {
            self.faults.add(&path, "`anyOf` must have a schema next to null");
        }
        inner.map(|field| FieldRules { is_nullable: true, ..field })
    }

    pub(super) fn reference(&mut self, node: &'f JsonNode<'f>, path: &Path, level: Level) -> Option<FieldRules> {
        let (target, path) = match (node.get("$ref"), node.get("allOf").map(JsonNode::items)) {
            (Some(target), None) => (Some(target), path.member("$ref")),
            (None, Some([only])) if only.members().len() == 1 => (only.get("$ref"), path.member("allOf")),
            _ => (None, path.member("allOf")),
        };
        let Some(target) = target else {
            self.faults.add(&path, "`allOf` must be a list of one object that has `$ref` only");
            return None;
        };
        let found = target.text().and_then(|target| target.strip_prefix("#/$defs/")).filter(|name| is_name(name));
        let found = found.map(|name| self.definitions.iter().find(|(definition, _)| definition == name));
        let (name, definition) = match found {
            None => {
                return self
                    .refuse(&path, "`$ref` must be #/$defs/NAME, with a name of A-Z, a-z, 0-9, '.', '_' and '-'");
            }
            Some(None) => return self.refuse(&path, "`$ref` must name a member of `$defs`"),
            Some(Some((name, definition))) => (name.as_ref(), definition),
        };
        if self.way.contains(&name) {
            return self.refuse(&path, "`$ref` must not lead back to itself");
        } else if self.way.len() == limits::REFERENCES {
            return self.refuse(&path, "`$ref` must not be the fifth on the way to a property");
        }
        self.used.insert(name);
        self.way.push(name);
        let field = self.field(definition, &Path::Root.member("$defs").member(name), level);
        self.way.pop();
        field
    }

    fn refuse(&mut self, path: &Path, detail: &str) -> Option<FieldRules> {
        self.faults.add(path, detail);
        None
    }

    /// A definition is read where it is used, so one that is not used would be ignored.
    pub(super) fn refuse_unused(&mut self) {
        for (name, _) in self.definitions {
            if !self.used.contains(name.as_ref()) {
                self.faults.add(&Path::Root.member("$defs").member(name), "a definition must be used by a `$ref`");
            }
        }
    }
}

/// As SDKs write names: without characters that a pointer or a URI would escape.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}
