//! Parsers of flags whose values may be secret: their errors do not quote the value, as clap's own do.

use std::{
    ffi::OsStr,
    fmt::{self, Display},
    path::{Path, PathBuf},
};

use clap::{Arg, Command, Error, builder::TypedValueParser, error::ErrorKind};

use crate::files;

/// Parses the value itself.
#[derive(Clone)]
pub struct UnquotedParser<T, E>(pub fn(&OsStr) -> Result<T, E>);

impl<T, E> TypedValueParser for UnquotedParser<T, E>
where
    T: Clone + Send + Sync + 'static,
    E: Display + Clone + 'static,
{
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        (self.0)(value).map_err(|rule| refusal(command, arg, &rule))
    }
}

/// Parses the text of the file that the value names.
#[derive(Clone)]
pub struct FileParser<T, E>(pub fn(&str) -> Result<T, E>);

/// What a file held when it was read. Its `Debug` output shows the path alone.
#[derive(Clone)]
pub struct FlagFile<T> {
    pub path: PathBuf,
    pub content: T,
}

impl<T, E> TypedValueParser for FileParser<T, E>
where
    T: Clone + Send + Sync + 'static,
    E: Display + Clone + 'static,
{
    type Value = FlagFile<T>;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<FlagFile<T>, Error> {
        let path = Path::new(value);
        let refused = |why: &dyn Display| refusal(command, arg, &format_args!("{}: {why}", path.display()));
        let text = files::read(path).map_err(|error| refused(&error))?;
        let content = (self.0)(&text).map_err(|rule| refused(&rule))?;
        Ok(FlagFile { path: path.to_owned(), content })
    }
}

impl<T> fmt::Debug for FlagFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FlagFile({})", self.path.display())
    }
}

fn refusal(command: &Command, arg: Option<&Arg>, why: &dyn Display) -> Error {
    let name = arg.map(ToString::to_string).unwrap_or_default();
    Error::raw(ErrorKind::ValueValidation, format!("{name}: {why}\n")).with_cmd(command)
}
