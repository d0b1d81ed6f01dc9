//! Whether a value fits a field. Each value is visited once, and no detail has a part of it.

use std::collections::HashSet;

use crate::{
    decimal,
    fault::{Faults, Path},
    json::JsonNode,
    limits,
    shape::{FieldKind, FieldRules, ListRules, NumberRules, ObjectRules, Options, TextRules},
};

pub(crate) fn field(field: &FieldRules, node: &JsonNode, path: &Path, faults: &mut Faults) {
    if matches!(node, JsonNode::Null) && field.is_nullable {
        return;
    }
    match &field.kind {
        FieldKind::Text(rules) => text(rules, node, path, faults),
        FieldKind::Choice(options) => choice(options, node, path, faults),
        FieldKind::Number(rules) => number(rules, node, path, faults),
        FieldKind::Boolean => {
            if !matches!(node, JsonNode::Boolean(_)) {
                faults.add(path, "must be true or false");
            }
        }
        FieldKind::List(rules) => list(rules, node, path, faults),
        FieldKind::Object(rules) => object(rules, node, path, faults),
    }
}

pub(crate) fn object(rules: &ObjectRules, node: &JsonNode, path: &Path, faults: &mut Faults) {
    let JsonNode::Object(members) = node else { return faults.add(path, "must be an object") };
    let mut found: Vec<Option<&JsonNode>> = vec![None; rules.members.len()];
    let mut others = Vec::new();
    for (name, value) in members {
        match rules.index.get(name.as_ref()) {
            Some(&index) => found[index] = Some(value),
            None => others.push(name),
        }
    }
    for (member, value) in rules.members.iter().zip(found) {
        let path = path.member(&member.name);
        match value {
            Some(value) => field(&member.field, value, &path, faults),
            None if member.is_required => faults.add(&path, "must be there"),
            None => {}
        }
    }
    if rules.is_closed {
        for name in others {
            faults.add(&path.member(name), "must not be there: the form does not have it");
        }
    }
}

fn text(rules: &TextRules, node: &JsonNode, path: &Path, faults: &mut Faults) {
    let Some(text) = node.text() else { return faults.add(path, "must be a text") };
    if rules.min.is_some() || rules.max.is_some() {
        length(text.chars().count(), rules.min, rules.max, "characters", path, faults);
    }
    if let Some(format) = rules.format.filter(|format| !format.holds(text)) {
        faults.add(path, format.rule());
    }
    if rules.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(text)) {
        faults.add(path, "must match the form's `pattern`");
    }
}

#[expect(clippy::cast_precision_loss, reason = "no text has 2^53 characters")]
fn length(count: usize, min: Option<f64>, max: Option<f64>, unit: &str, path: &Path, faults: &mut Faults) {
    if let Some(min) = min.filter(|&min| (count as f64) < min) {
        faults.add(path, format!("must have at least {} {unit}", shown(min)));
    }
    if let Some(max) = max.filter(|&max| count as f64 > max) {
        faults.add(path, format!("must have at most {} {unit}", shown(max)));
    }
}

fn choice(options: &Options, node: &JsonNode, path: &Path, faults: &mut Faults) {
    if !node.text().is_some_and(|text| options.contains(text)) {
        let detail = match options.len() {
            1 => "must be the form's only option".to_owned(),
            count => format!("must be one of the form's {count} options"),
        };
        faults.add(path, detail);
    }
}

fn number(rules: &NumberRules, node: &JsonNode, path: &Path, faults: &mut Faults) {
    let kind = if rules.is_whole { "must be a whole number" } else { "must be a number" };
    let Some(number) = node.number() else { return faults.add(path, kind) };
    if rules.is_whole && number.fract() != 0.0 {
        faults.add(path, kind);
    }
    let bounds = [
        (rules.min.filter(|&min| number < min), "at least"),
        (rules.max.filter(|&max| number > max), "at most"),
        (rules.above.filter(|&limit| number <= limit), "greater than"),
        (rules.below.filter(|&limit| number >= limit), "less than"),
    ];
    for (crossed, words) in bounds {
        if let Some(bound) = crossed {
            faults.add(path, format!("must be {words} {}", shown(bound)));
        }
    }
    if let Some(step) = rules.step.filter(|&step| !decimal::is_multiple(number, step)) {
        faults.add(path, format!("must be a multiple of {}", shown(step)));
    }
}

/// A number of the form in few characters.
fn shown(number: f64) -> String {
    let text = number.to_string();
    if text.len() > 25 { format!("{number:e}") } else { text }
}

fn list(rules: &ListRules, node: &JsonNode, path: &Path, faults: &mut Faults) {
    let JsonNode::List(items) = node else { return faults.add(path, "must be a list") };
    if items.len() > limits::ITEMS {
        return faults.add(path, format!("must have at most {} items", limits::ITEMS));
    }
    length(items.len(), rules.min, rules.max, "items", path, faults);
    let mut seen = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        if faults.is_full() {
            return;
        }
        let path = path.item(index);
        choice(&rules.options, item, &path, faults);
        if rules.is_unique && item.text().is_some_and(|text| !seen.insert(text)) {
            faults.add(&path, "must not be there twice");
        }
    }
}
