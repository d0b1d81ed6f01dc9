//! Reads the lines of a file or of standard input.

use std::{
    fs::File,
    io::{BufRead, BufReader, Chain, Cursor, Read, stdin},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::form::foreign;
use intray_base::{
    sha256::{Sha256, hex},
    text::MARK,
};
use intray_job::{chance::random, limits};

/// Maximum bytes of a line, more than any service accepts. A longer line is cut here, and only that line is refused.
pub const MAX_LINE_BYTES: u64 = limits::BODY as u64 + (64 << 10);
/// Bytes that are inspected for the format and the key.
const BEGINNING: u64 = 8 << 10;

/// A file of which the beginning has been read.
pub struct OpenedFile {
    pub name: PathBuf,
    /// Without a byte order mark.
    pub beginning: Vec<u8>,
    pub rest: Box<dyn Read>,
    /// In bytes, if known.
    pub size: Option<u64>,
    pub key: DefaultKey,
}

/// The default idempotency key, which makes it safe to send the file again. It has the path of the file, if there is one.
pub struct DefaultKey(Option<PathBuf>);

impl DefaultKey {
    /// Makes the key of the path and the heading of the file, so that it stays the same when the file grows.
    pub fn with(&self, heading: &[u8]) -> String {
        // The contents of a pipe cannot be recognised on a later run, so each run has its own key.
        let digest = self.0.as_ref().map_or_else(random::<16>, |path| {
            let digest = Sha256::digest([path.as_os_str().as_encoded_bytes(), b"\0", heading].concat());
            std::array::from_fn(|i| digest[i])
        });
        format!("import-{}", hex(digest))
    }
}

impl OpenedFile {
    /// # Errors
    /// The file cannot be read.
    pub fn open(file: &Path) -> anyhow::Result<Self> {
        let name = if file.as_os_str() == "-" { "standard input".into() } else { file.to_owned() };
        let opened = opened(file).with_context(|| name.display().to_string())?;
        let (mut rest, size) = opened;
        let mut beginning = Vec::new();
        let read = rest.by_ref().take(BEGINNING).read_to_end(&mut beginning);
        read.with_context(|| name.display().to_string())?;
        if beginning.starts_with(MARK) {
            beginning.drain(..MARK.len());
        }
        let key = DefaultKey(size.and_then(|_| file.canonicalize().ok()));
        Ok(Self { name, beginning, rest, size, key })
    }
}

pub struct LineSource {
    name: PathBuf,
    lines: Chain<Cursor<Vec<u8>>, BufReader<Box<dyn Read>>>,
    /// The default idempotency key.
    pub key: String,
    /// In bytes, if known.
    pub size: Option<u64>,
}

/// A line without surrounding white space.
pub struct SourceLine {
    pub text: Vec<u8>,
    /// Size in the file, in bytes.
    pub read: u64,
    pub is_too_long: bool,
}

impl LineSource {
    /// # Errors
    /// The file cannot be read, or is not lines of JSON.
    pub fn open(file: &Path, payloads: bool) -> anyhow::Result<Self> {
        let OpenedFile { name, beginning, rest, key, size } = OpenedFile::open(file)?;
        if let Some(foreign) = foreign(&beginning, payloads) {
            bail!("{} {foreign}", name.display());
        }
        let key = key.with(beginning.split(|byte| *byte == b'\n').next().unwrap_or_default());
        Ok(Self { name, lines: Cursor::new(beginning).chain(BufReader::new(rest)), key, size })
    }

    /// Returns the next line, `None` at the end.
    ///
    /// # Errors
    /// The line cannot be read.
    pub fn line(&mut self) -> anyhow::Result<Option<SourceLine>> {
        let (lines, mut text) = (&mut self.lines, Vec::new());
        let name = || self.name.display().to_string();
        let mut read = lines.take(MAX_LINE_BYTES).read_until(b'\n', &mut text).with_context(name)? as u64;
        let is_too_long = read >= MAX_LINE_BYTES && !text.ends_with(b"\n");
        if is_too_long {
            read += lines.skip_until(b'\n').with_context(name)? as u64;
        } else {
            text = text.trim_ascii().to_vec();
        }
        Ok((read > 0).then_some(SourceLine { text, read, is_too_long }))
    }

    /// Skips this many lines and returns their size in bytes.
    ///
    /// # Errors
    /// A line cannot be read.
    pub fn pass_over(&mut self, lines: u64) -> anyhow::Result<u64> {
        let mut read = 0;
        for _ in 0..lines {
            let Some(line) = self.line()? else { break };
            read += line.read;
        }
        Ok(read)
    }
}

fn opened(file: &Path) -> std::io::Result<(Box<dyn Read>, Option<u64>)> {
    if file.as_os_str() == "-" {
        return Ok((Box::new(stdin()), None));
    }
    let opened = File::open(file)?;
    let about = opened.metadata()?;
    Ok((Box::new(opened), about.is_file().then_some(about.len())))
}
