//! What was looked at of a Redis, and what is wrong with it.

/// One thing that must be so.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub problem: Option<String>,
    /// It costs safety, not service.
    pub is_warning: bool,
}

pub(super) fn check(name: &'static str, problem: Option<String>) -> Check {
    Check { name, problem, is_warning: false }
}

pub(super) fn warn(name: &'static str, problem: Option<String>) -> Check {
    Check { name, problem, is_warning: true }
}

pub(super) fn field<'i>(info: &'i str, name: &str) -> &'i str {
    let value = |line: &'i str| line.trim_end().strip_prefix(name)?.strip_prefix(':');
    info.lines().find_map(value).unwrap_or_default()
}
