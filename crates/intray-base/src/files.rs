//! Small files from the operator: keys, secrets, a URL.

mod change;
mod watched;

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

pub use self::{
    change::change,
    watched::{CHECK_INTERVAL, Describe, Watched, watch},
};
use crate::text;

/// Reads a regular file as UTF-8 and drops a byte order mark. A pipe is refused, because one without a writer blocks for ever.
///
/// # Errors
/// When the file cannot be read, is not a regular file, or is not UTF-8.
pub fn read(path: &Path) -> io::Result<String> {
    let mut file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if text::is_utf16(&bytes) {
        return Err(io::Error::other(text::UTF16_RULE));
    }
    if bytes.starts_with(text::MARK) {
        bytes.drain(..text::MARK.len());
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// Whether every user of this machine may read it. Group access is fine: secrets are often mounted that way.
pub fn is_world_readable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o004 != 0)
}
