//! A file that the service makes: as it is served, hashed once.

use bytes::Bytes;

use crate::sha256::{Hash, Sha256};

#[derive(Clone)]
pub struct GeneratedFile {
    pub data: Bytes,
    pub kind: &'static str,
    /// Its ETag.
    pub hash: Hash,
}

impl GeneratedFile {
    pub fn new(data: impl Into<Bytes>, kind: &'static str) -> Self {
        let data = data.into();
        let hash = Sha256::digest(&data);
        Self { data, kind, hash }
    }
}
