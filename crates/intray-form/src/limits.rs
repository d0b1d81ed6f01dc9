//! The limits of forms and of what is answered about them.

/// Bytes of a form.
pub const FORM: usize = 16 * 1024;
/// Properties of a form, those of groups and of `$defs` included.
pub const PROPERTIES: usize = 64;
/// Options of a form, those of `$defs` included.
pub const OPTIONS: usize = 256;
/// Patterns of a queue's form.
pub const PATTERNS: usize = 16;
/// Bytes of a compiled pattern.
pub const PATTERN_SIZE: usize = 64 * 1024;
/// `$ref`s on the way from the form to a property.
pub const REFERENCES: usize = 4;
/// Faults of an answer.
pub const FAULTS: usize = 20;
/// Characters of a fault's detail.
pub const DETAIL: usize = 200;
/// Bytes of a fault's pointer. A longer one ends at the value around.
pub const POINTER: usize = 512;
/// Characters of a keyword in a detail.
pub const SHOWN_KEYWORD: usize = 40;
