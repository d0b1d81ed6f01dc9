//! Options: `enum`, `const`, or `oneOf` and `anyOf` of `const` with a title.

use super::{Gate, Level, Options};
use crate::{
    SchemaKind,
    fault::Path,
    json::JsonNode,
    keywords,
    shape::{FieldKind, FieldRules},
};

const WAYS: [&str; 4] = ["enum", "const", "oneOf", "anyOf"];

impl<'f> Gate<'f> {
    pub(super) fn choice(&mut self, node: &'f JsonNode<'f>, path: &Path) -> Option<Options> {
        if let Some(options) = self.options.get(&std::ptr::from_ref(node)) {
            return Some(options.clone());
        }
        self.check_type(node, path);
        let mut ways = WAYS.into_iter().filter_map(|name| node.get(name).map(|value| (name, value)));
        let (name, value) = ways.next()?;
        if let Some((other, _)) = ways.next() {
            self.faults.add(&path.member(other), format!("a choice must have `{name}` or `{other}`, not both"));
        }
        let path = path.member(name);
        let options = match name {
            "enum" => value.items().iter().filter_map(JsonNode::text).collect(),
            "const" => value.text().into_iter().collect(),
            _ => self.titled(value.items(), &path),
        };
        self.keep(node, options, &path)
    }

    pub(super) fn items(&mut self, node: &'f JsonNode<'f>, path: &Path) -> Option<Options> {
        let Some(items) = node.get("items") else {
            self.faults.add(path, "`items` must be there: a list is drawn as check boxes");
            return None;
        };
        match self.field(items, &path.member("items"), Level::Items)? {
            FieldRules { kind: FieldKind::Choice(options), is_nullable: false } => Some(options),
            _ => None,
        }
    }

    /// The values of options with a title.
    fn titled(&mut self, options: &'f [JsonNode<'f>], path: &Path) -> Vec<&'f str> {
        let mut values = Vec::new();
        for (index, option) in options.iter().enumerate() {
            let path = path.item(index);
            let (Some(value), Some(_)) = (option.get("const"), option.get("title")) else {
                self.faults.add(&path, "an option must have `const` and `title`");
                continue;
            };
            keywords::check(option, &[SchemaKind::Option], &path, &mut self.faults);
            self.check_type(option, &path);
            match value.text() {
                Some(value) if values.contains(&value) => {
                    self.faults.add(&path.member("const"), "each option must be there once")
                }
                value => values.extend(value),
            }
        }
        values
    }

    /// Options are texts. Null is none of them, so a type with null would promise what no result can have.
    fn check_type(&mut self, node: &JsonNode, path: &Path) {
        let path = path.member("type");
        match node.get("type").and_then(keywords::types) {
            None | Some(("string", false)) => {}
            Some(("string", true)) => {
                self.faults
                    .add(&path, "the `type` of options must be string; for null write `anyOf` of the choice and null");
            }
            Some(_) => self.faults.add(&path, "the `type` of options must be string"),
        }
    }
}
