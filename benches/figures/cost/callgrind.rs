//! A program under callgrind, which counts its instructions: other load on the machine does not change them.

use std::{
    collections::HashMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The entry points of the allocators: the C library and jemalloc.
const ALLOCATING: [&str; 10] = [
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "posix_memalign",
    "_rjem_malloc",
    "_rjem_calloc",
    "_rjem_realloc",
    "_rjem_mallocx",
    "_rjem_rallocx",
];

pub struct Callgrind {
    folder: PathBuf,
}

/// The work between [`Callgrind::begin`] and [`Callgrind::end`].
pub struct Profile {
    pub instructions: u64,
    pub allocations: u64,
    /// Allocations by Lua, for tables, strings and functions: it calls `realloc` for all of them, far more often than
    /// other functions of Redis.
    pub of_lua: u64,
    own: HashMap<String, u64>,
}

impl Callgrind {
    /// Writes its files into a folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// A program under callgrind. The process is the program's own.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "-q"]);
        command.arg(format!("--callgrind-out-file={}", self.folder.join("callgrind.%p").display()));
        command.arg(program);
        command
    }

    /// Starts counting.
    pub fn begin(&self, process: u32) {
        tell(process, "zero");
    }

    pub fn end(&self, process: u32) -> Profile {
        let parts =
            || (1..).map(|n| self.folder.join(format!("callgrind.{process}.{n}"))).take_while(|part| part.exists());
        let before = parts().count();
        tell(process, "dump");
        assert_eq!(parts().count(), before + 1, "callgrind wrote down what it had counted");
        Profile::read(&std::fs::read_to_string(parts().last().expect("a part")).expect("a profile"))
    }
}

/// Through valgrind's gdb server, which answers when it has done it.
fn tell(process: u32, what: &str) {
    let mut door = Command::new("vgdb");
    let done = door.arg(format!("--pid={process}")).arg(what).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(done.expect("vgdb").success(), "callgrind did not {what}");
}

impl Profile {
    /// Reads as much of the form in callgrind's manual as is needed: where a function begins, its lines (a place and
    /// a cost), and after each call a line with the cost of who was called.
    fn read(text: &str) -> Self {
        let (mut instructions, mut own, mut asking) = (None, HashMap::<_, u64>::new(), HashMap::<_, u64>::new());
        let (mut names, mut function, mut called, mut is_called) = (HashMap::new(), "", "", false);
        for line in text.lines() {
            if let Some(named) = line.strip_prefix("fn=") {
                function = name_of(named, &mut names);
            } else if let Some(named) = line.strip_prefix("cfn=") {
                called = name_of(named, &mut names);
            } else if let Some(calls) = line.strip_prefix("calls=") {
                if ALLOCATING.contains(&called) {
                    *asking.entry((function, called)).or_default() += number(calls);
                }
                is_called = true;
            } else if let Some(total) = line.strip_prefix("totals: ") {
                instructions = Some(number(total));
            } else if line.starts_with(|first: char| "+-*0123456789".contains(first)) {
                let cost = line.split_once(' ').map_or(0, |(_, cost)| number(cost));
                *own.entry(plain(function)).or_default() += if std::mem::take(&mut is_called) { 0 } else { cost };
            }
        }
        let of_lua = asking.iter().filter(|((_, called), _)| *called == "realloc").map(|(_, calls)| *calls).max();
        let own = own.into_iter().map(|(name, own)| (name.to_owned(), own)).collect();
        let instructions = instructions.expect("a total");
        Self { instructions, allocations: asking.values().sum(), of_lua: of_lua.unwrap_or(0), own }
    }

    /// The functions with the most instructions of their own.
    pub fn functions(&self) -> Vec<(&str, u64)> {
        let mut functions: Vec<_> = self.own.iter().map(|(name, own)| (name.as_str(), *own)).collect();
        functions.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        functions
    }

    pub fn top(&self) -> String {
        let share = |own: u64| own as f64 * 100.0 / self.instructions as f64;
        let functions = self.functions().into_iter().take(40);
        functions.map(|(name, own)| format!("{:>6.2} %  {name:.140}\n", share(own))).collect()
    }
}

/// Without what distinguishes those of one name: the hash of a build, the depth of a recursion.
fn plain(name: &str) -> &str {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.rsplit_once('\'').filter(|(_, depth)| is_number(depth)).map_or(name, |(name, _)| name);
    name.rsplit_once("::h").filter(|(_, hash)| hash.len() == 16).map_or(name, |(name, _)| name)
}

/// A function is named where it first occurs, `(12) malloc`, and is `(12)` from then on.
fn name_of<'t>(function: &'t str, names: &mut HashMap<&'t str, &'t str>) -> &'t str {
    match function.split_once(' ') {
        Some((number, name)) => {
            names.insert(number, name);
            name
        }
        None => names.get(function).copied().unwrap_or_default(),
    }
}

fn number(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}
