//! What is wrong, and where.

use std::fmt::Write as _;

use crate::limits;

/// One place that is wrong. The pointer is a JSON pointer (RFC 6901), the detail states the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormFault {
    pub pointer: String,
    pub detail: String,
}

/// A text is not a form: why, at least one place and at most [`limits::FAULTS`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not a form")]
pub struct FormError(pub Vec<FormFault>);

/// The way to a value. It lies on the stack and becomes text only for a fault.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub fn member(&'p self, name: &'p str) -> Self {
        Self::Member(self, name)
    }

    pub fn item(&'p self, index: usize) -> Self {
        Self::Item(self, index)
    }

    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        self.write(&mut pointer);
        pointer
    }

    /// Returns whether the whole way is written. A step that makes the pointer too long is left out, with all after it.
    fn write(&self, pointer: &mut String) -> bool {
        let (parent, step) = match self {
            Self::Root => return true,
            // A name that is too long is not escaped first.
            Self::Member(parent, name) if name.len() > limits::POINTER => {
                parent.write(pointer);
                return false;
            }
            Self::Member(parent, name) => (parent, name.replace('~', "~0").replace('/', "~1")),
            Self::Item(parent, index) => (parent, index.to_string()),
        };
        let fits = parent.write(pointer) && pointer.len() + 1 + step.len() <= limits::POINTER;
        if fits {
            let _ = write!(pointer, "/{step}");
        }
        fits
    }
}

/// Faults in the order in which they are found; those over the limit are not kept.
#[derive(Default)]
pub(crate) struct Faults(Vec<FormFault>);

impl Faults {
    pub fn add(&mut self, path: &Path, detail: impl Into<String>) {
        if !self.is_full() {
            self.add_at(path.pointer(), detail);
        }
    }

    pub fn add_at(&mut self, pointer: String, detail: impl Into<String>) {
        let fault = FormFault { pointer, detail: cut(detail.into(), limits::DETAIL) };
        // A definition that two references lead to is read twice.
        if !self.is_full() && !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.0.len() >= limits::FAULTS
    }

    pub fn into_list(self) -> Vec<FormFault> {
        self.0
    }
}

/// At most this many characters of a text.
pub(crate) fn cut(mut text: String, max: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(max) {
        text.truncate(end);
    }
    text
}
