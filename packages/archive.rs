//! The archives that the package managers of npm and Python take. What goes into one comes out as the same bytes, whenever and
//! wherever it is made: names in order, one moment for all of them, no owner.

use std::io::{Error, Write};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use zip::{ZipWriter, result::ZipResult, write::SimpleFileOptions};

/// A file by its name in the archive.
pub type File = (String, Vec<u8>);

/// The moment that `npm pack` gives to all files: 1985-10-26. Before 1980 some tools cannot write what they unpack.
const MOMENT: u64 = 499_162_500;

/// As npm packs: everything below `package/`.
pub fn tarball(mut files: Vec<File>) -> Result<Vec<u8>, Error> {
    files.sort();
    let mut tar = tar::Builder::new(GzBuilder::new().mtime(0).write(Vec::new(), Compression::best()));
    for (name, data) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(MOMENT);
        tar.append_data(&mut header, format!("package/{name}"), &*data)?;
    }
    tar.into_inner()?.finish()
}

/// A wheel: what it brings, what is said of it, and a record of both with a hash each.
pub fn wheel(name: &str, version: &str, mut files: Vec<File>, metadata: Vec<File>) -> ZipResult<Vec<u8>> {
    let about = format!("{name}-{version}.dist-info");
    files.sort();
    files.extend(metadata.into_iter().map(|(name, data)| (format!("{about}/{name}"), data)));
    let lines = files
        .iter()
        .map(|(name, data)| format!("{name},sha256={},{}\n", URL_SAFE_NO_PAD.encode(Sha256::digest(data)), data.len()));
    let record = format!("{about}/RECORD");
    let lines = lines.chain([format!("{record},,\n")]).collect::<String>();
    files.push((record, lines.into_bytes()));

    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    // Without a time: that is 1980, the earliest that a zip can hold.
    let options = SimpleFileOptions::DEFAULT.unix_permissions(0o644);
    for (name, data) in files {
        zip.start_file(name, options)?;
        zip.write_all(&data)?;
    }
    Ok(zip.finish()?.into_inner())
}
