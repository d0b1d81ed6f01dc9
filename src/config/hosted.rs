//! The settings of a service inside another program.

use std::ffi::OsString;

use clap::CommandFactory;

use super::{Cli, Command, Serve, each_argument};

impl Serve {
    /// By flags alone: the variables of that program are not the service's.
    ///
    /// # Errors
    /// What `intray serve` would say of a wrong flag.
    pub fn from_flags(flags: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let definition = each_argument(Cli::command(), |arg| arg.env(None::<&str>));
        let words = ["intray", "serve"].map(OsString::from).into_iter().chain(flags);
        let cli = Cli::from(definition, words)?;
        let Some(Command::Serve(serve)) = cli.command else { unreachable!("the command is named") };
        Ok(serve)
    }
}
