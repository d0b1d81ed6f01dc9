//! A form as the check reads it: what decides, without what is only drawn.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{Format, pattern::PatternAutomaton};

#[derive(Debug)]
pub(crate) struct ObjectRules {
    pub members: Vec<Member>,
    pub index: HashMap<Box<str>, usize>,
    /// Refuses members without a name here: `additionalProperties: false`.
    pub is_closed: bool,
}

impl ObjectRules {
    /// The bytes of its patterns, each as often as it is referred to.
    pub fn pattern_size(&self) -> usize {
        let of_field = |member: &Member| match &member.field.kind {
            FieldKind::Text(rules) => rules.pattern.as_ref().map_or(0, |pattern| pattern.size()),
            FieldKind::Object(rules) => rules.pattern_size(),
            FieldKind::Choice(_) | FieldKind::Number(_) | FieldKind::Boolean | FieldKind::List(_) => 0,
        };
        self.members.iter().map(of_field).sum()
    }
}

#[derive(Debug)]
pub(crate) struct Member {
    pub name: Box<str>,
    pub is_required: bool,
    pub field: FieldRules,
}

#[derive(Debug)]
pub(crate) struct FieldRules {
    pub kind: FieldKind,
    pub is_nullable: bool,
}

#[derive(Debug)]
pub(crate) enum FieldKind {
    Text(TextRules),
    Choice(Options),
    Number(NumberRules),
    Boolean,
    List(ListRules),
    Object(ObjectRules),
}

/// The values of a choice. Several references to one definition share them.
pub(crate) type Options = Arc<HashSet<Box<str>>>;

/// Lengths count code points.
#[derive(Debug)]
pub(crate) struct TextRules {
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub format: Option<Format>,
    pub pattern: Option<Arc<PatternAutomaton>>,
}

#[derive(Debug)]
pub(crate) struct NumberRules {
    pub is_whole: bool,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub above: Option<f64>,
    pub below: Option<f64>,
    pub step: Option<f64>,
}

#[derive(Debug)]
pub(crate) struct ListRules {
    pub options: Options,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub is_unique: bool,
}
