//! The result of one check of Redis.

/// One requirement.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: &'static str,
    /// What is wrong, as a sentence.
    pub problem: Option<String>,
    /// The service works, with less safety.
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
