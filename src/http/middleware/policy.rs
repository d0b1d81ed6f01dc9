//! What an operator decides about requests.

/// What an operator decides about requests.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Names besides the loopback ones, without ports; `*` for any. Without access control, or where some are given, a
    /// `Host` must be one of these.
    pub allowed_hosts: Vec<String>,
    pub cors: Origins,
    /// Headers that pages of these may send, besides those that calls have; in lower case.
    pub cors_headers: Vec<String>,
    /// Bytes in a payload or a result.
    pub max_payload: usize,
    pub demo: bool,
}

/// Whose pages may call, besides the service's own.
#[derive(Debug, Clone)]
pub enum Origins {
    /// Everybody's.
    Any,
    /// As browsers write them: `scheme://host[:port]` in lower case, without the scheme's usual port.
    Listed(Vec<String>),
}

impl Origins {
    pub fn allow(&self, origin: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(list) => list.iter().any(|listed| listed.eq_ignore_ascii_case(origin)),
        }
    }
}
