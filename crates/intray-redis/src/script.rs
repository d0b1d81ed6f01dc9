//! The scripts and the library of functions, which the caller provides.

use redis::Value;

use crate::args::Args;

/// One script, callable as a function of the library or, where Redis accepts no library, by its own text.
pub trait Script: Send + Sync {
    /// The name for FCALL.
    fn function(&self) -> &str;
    /// The text for EVAL and its digest for EVALSHA; created on the first use.
    fn source(&self) -> SourceText<'_>;
    /// False if the script only reads.
    fn writes(&self) -> bool;
    /// Redis refuses it at `maxmemory`.
    fn grows(&self) -> bool;
    /// The reply hands nothing to the caller, so that it need not wait until the change is durable.
    fn gives_nothing(&self, reply: &Value) -> bool;
    /// An error message of Redis with the file and line of the source.
    fn explain(&self, message: &str) -> String;
}

/// The text of a script that is not called through the library.
pub struct SourceText<'s> {
    pub code: &'s str,
    pub sha: &'s str,
}

/// All functions in one text.
pub struct Library {
    pub code: String,
    /// A call that changes nothing; it builds the library's modules, so that the first caller does not wait for them.
    pub probe: redis::Cmd,
}

impl Library {
    /// A library whose probe is a call of `function` with these keys.
    pub fn new(code: String, function: &str, keys: &Args) -> Self {
        Self { code, probe: command("FCALL", function, keys, &[]) }
    }
}

/// A script, its keys and the arguments of one item or several.
#[derive(Clone, Copy)]
pub(crate) struct ScriptCall<'c> {
    pub(crate) script: &'c dyn Script,
    pub(crate) keys: &'c Args,
    pub(crate) items: &'c [&'c Args],
}

impl ScriptCall<'_> {
    pub(crate) fn command(&self, name: &str, script: &str) -> redis::Cmd {
        command(name, script, self.keys, self.items)
    }
}

fn command(name: &str, script: &str, keys: &Args, items: &[&Args]) -> redis::Cmd {
    let parts = || std::iter::once(keys).chain(items.iter().copied());
    let (count, size) =
        parts().fold((3, name.len() + script.len()), |(n, size), args| (n + args.count(), size + args.size()));
    let mut command = redis::Cmd::with_capacity(count, size);
    command.arg(name).arg(script).arg(keys.count());
    for arg in parts().flat_map(Args::iter) {
        command.arg(arg);
    }
    command
}
