//! Small files that an operator gives us: keys, secrets, an address.

mod replace;
mod watched;

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

pub use self::{
    replace::replace,
    watched::{Described, LOOK, Watched, keep_looking},
};

/// What stands in a file, and only in a file: a pipe that nobody writes into would keep its reader for ever.
///
/// # Errors
/// When it cannot be read, or is not a file.
pub fn read(path: &Path) -> io::Result<String> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Whether everybody on this machine may read it. A group may: that is how secrets are mounted for one user of many.
pub fn is_everybodys(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o004 != 0)
}
