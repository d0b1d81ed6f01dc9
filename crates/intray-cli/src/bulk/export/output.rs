//! The output of an export: a file, or standard output.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, IsTerminal, Read, Seek, SeekFrom, Write, stdout},
    path::Path,
};

use anyhow::{Context, anyhow};

use crate::terminal::TerminalWriter;

pub struct ExportOutput {
    into: Box<dyn Write + Send>,
    /// Whether it appends to existing content.
    pub appends: bool,
}

impl ExportOutput {
    pub fn of_standard() -> Self {
        let out = BufWriter::new(stdout());
        let into: Box<dyn Write + Send> =
            if stdout().is_terminal() { Box::new(TerminalWriter::new(out)) } else { Box::new(out) };
        Self { into, appends: false }
    }

    /// Opens a file: appends to it if `appends`, else overwrites it.
    ///
    /// # Errors
    /// The file cannot be opened or continued. The error names it.
    pub fn of(file: &Path, appends: bool) -> anyhow::Result<Self> {
        let overwrite = || Ok((File::create(file)?, false));
        let opened = if appends { append_to(file) } else { overwrite() };
        let (opened, appends) = opened.with_context(|| file.display().to_string())?;
        Ok(Self { into: Box::new(BufWriter::new(opened)), appends })
    }
}

/// Opens the file to append, and returns whether it has content.
fn append_to(file: &Path) -> anyhow::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    let mut opened = options.append(true).create(true).open(file)?;
    let about = opened.metadata()?;
    if !about.is_file() || about.len() == 0 {
        return Ok((opened, false));
    }
    let mut last = [0];
    let mut read = File::open(file)?;
    read.seek(SeekFrom::End(-1))?;
    read.read_exact(&mut last)?;
    // Appending to a line that was cut, for example by a full disk, would merge two lines into a broken one.
    if last != *b"\n" {
        return Err(anyhow!("its last line has no end: cut it off, and continue after the one before"));
    }
    opened.seek(SeekFrom::End(0))?;
    Ok((opened, true))
}

impl Write for ExportOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.into.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        for appends in [false, true] {
            let error = ExportOutput::of(Path::new("/nowhere/jobs.ndjson"), appends).err().expect("no such folder");
            assert!(format!("{error:#}").starts_with("/nowhere/jobs.ndjson: "), "{error:#}");
        }
    }
}
