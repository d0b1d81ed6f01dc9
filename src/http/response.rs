//! Answers: JSON, problems, and bodies that release what they hold when they are gone.

pub mod counted;
pub mod entity_tag;
pub mod field_error;
pub mod formula;
pub mod json;
pub mod problem;
pub mod shapes;
