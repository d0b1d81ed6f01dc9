//! Forms: the part of JSON Schema (2020-12) that a page can draw, and the check of a result against one.
//!
//! [`Form::parse`] is a gate: it takes what the table [`keywords`] lists and refuses everything else by name. A form that
//! exists can be drawn, and [`Form::check`] takes time linear in the form and the result.

mod check;
mod decimal;
mod fault;
mod format;
mod json;
mod keywords;
pub mod limits;
mod parser;
mod pattern;
mod shape;

pub use fault::{FormError, FormFault};
pub use format::Format;
pub use keywords::{Keyword, KeywordValue, SchemaKind, keywords};

use fault::{Faults, Path};

/// Who wrote a form. Only a queue's form may have patterns: it comes from an operator, a job's form from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Queue,
    Job,
}

/// What a result must look like.
#[derive(Debug)]
pub struct Form(shape::ObjectRules);

impl Form {
    /// # Errors
    /// Where the text is not a form, at most [`limits::FAULTS`] places. The pointers lead into the form.
    pub fn parse(text: &str, owner: Owner) -> Result<Self, FormError> {
        parser::parse_form(text, owner).map(Self).map_err(FormError)
    }

    /// The bytes of its patterns once they are compiled: most of what a form takes.
    pub fn pattern_size(&self) -> usize {
        self.0.pattern_size()
    }

    /// Returns where the result, a JSON text, does not fit: at most [`limits::FAULTS`] places, in the order of the form. The
    /// result fits if there are none. The pointers lead into the result; no detail has a part of it.
    ///
    /// This does not yield. A caller with several results checks one at a time.
    pub fn check(&self, result: &str) -> Vec<FormFault> {
        let mut faults = Faults::default();
        let node = json::read(result, json::KeptParts::Object(&self.0), &mut faults);
        if let Some(node) = node.filter(|_| faults.is_empty()) {
            check::object(&self.0, &node, &Path::Root, &mut faults);
        }
        faults.into_list()
    }
}
