//! What a browser lets a page load: the content policies.

/// Pages may load their own scripts and styles and make their own calls, nothing else. Text never becomes a script.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";
/// The viewer of the contract is a third-party script: it styles by attributes and creates HTML from Markdown.
pub const READERS_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
