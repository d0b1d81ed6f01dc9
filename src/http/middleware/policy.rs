//! What an operator decides about requests.

/// What an operator decides about requests.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Host names besides the loopback ones, without ports; `*` allows any. `Host` is checked without access control,
    /// or when some are listed.
    pub allowed_hosts: Vec<String>,
    pub cors: Origins,
    /// More headers that pages of these origins may send, in lower case.
    pub cors_headers: Vec<String>,
    /// Largest payload or result, in bytes.
    pub max_payload: usize,
    pub demo: bool,
    pub desk: DeskSources,
}

/// What the desk may load from elsewhere: addresses as browsers write them, which a content policy can name.
#[derive(Debug, Clone, Default)]
pub struct DeskSources {
    /// Images are shown below these; each ends with a slash.
    pub images: Vec<String>,
    /// Where a person's token is asked for.
    pub token: Option<String>,
}

/// Origins whose pages may call, besides the service's own.
#[derive(Debug, Clone)]
pub enum Origins {
    /// All origins.
    Any,
    /// `scheme://host[:port]` as browsers write it: lower case, without the default port.
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
