//! The limits of forms and of what is answered about them.

/// Bytes of a form.
pub const FORM: usize = 16 * 1024;
/// Properties of a form, those of groups and of `$defs` included.
pub const PROPERTIES: usize = 64;
/// Options of a form, those of `$defs` included.
pub const OPTIONS: usize = 256;
/// Items of a list in a result: a person ticks each option once.
pub const ITEMS: usize = OPTIONS;
/// Properties of a queue's form that have a pattern, each `$ref` to one included.
pub const PATTERNS: usize = 16;
/// Bytes of a pattern.
pub const PATTERN: usize = 1024;
/// Escapes of a pattern that are not written out at once.
pub const PATTERN_ESCAPES: usize = 64;
/// Bytes of the compiled patterns of a form.
pub const PATTERN_SIZE: usize = 512 * 1024;
/// Bytes of each of the two steps towards a compiled pattern, by which the time goes.
pub const PATTERN_STEPS: [usize; 2] = [128 * 1024, 64 * 1024];
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
