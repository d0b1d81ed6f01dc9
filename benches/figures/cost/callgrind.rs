//! A program under callgrind, which counts the instructions that it takes: a figure that other load on the machine leaves
//! alone.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What the C library's callers ask it for.
const ALLOCATING: [&str; 5] = ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign"];

pub struct Callgrind {
    folder: PathBuf,
}

/// What was done between [`Callgrind::begin`] and [`Callgrind::end`].
pub struct Profile {
    pub instructions: u64,
    pub allocations: u64,
    file: PathBuf,
}

impl Callgrind {
    /// Leaves its files in a folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// A program that is run under it. The process is the program's own.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "-q"]);
        command.arg(format!("--callgrind-out-file={}", self.folder.join("callgrind.%p").display()));
        command.arg(program);
        command
    }

    /// From now on it counts.
    pub fn begin(&self, process: u32) {
        tell(process, "zero");
    }

    pub fn end(&self, process: u32) -> Profile {
        let parts =
            || (1..).map(|n| self.folder.join(format!("callgrind.{process}.{n}"))).take_while(|part| part.exists());
        let before = parts().count();
        tell(process, "dump");
        assert_eq!(parts().count(), before + 1, "callgrind wrote down what it had counted");
        Profile::read(parts().last().expect("a part"))
    }
}

/// Through valgrind's own door, which answers when it has done it.
fn tell(process: u32, what: &str) {
    let mut door = Command::new("vgdb");
    let done = door.arg(format!("--pid={process}")).arg(what).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(done.expect("vgdb").success(), "callgrind did not {what}");
}

impl Profile {
    fn read(file: PathBuf) -> Self {
        let text = std::fs::read_to_string(&file).expect("a profile");
        let (mut instructions, mut allocations) = (None, 0);
        let (mut names, mut called) = (HashMap::new(), "");
        for line in text.lines() {
            if let Some(function) = line.strip_prefix("fn=") {
                name_of(function, &mut names);
            } else if let Some(function) = line.strip_prefix("cfn=") {
                called = name_of(function, &mut names);
            } else if let Some(calls) = line.strip_prefix("calls=").filter(|_| ALLOCATING.contains(&called)) {
                allocations += number(calls);
            } else if let Some(total) = line.strip_prefix("totals: ") {
                instructions = Some(number(total));
            }
        }
        Self { instructions: instructions.expect("a total"), allocations, file }
    }

    /// The functions that took most.
    pub fn top(&self) -> String {
        let shown = Command::new("callgrind_annotate").arg(&self.file).output().expect("callgrind_annotate");
        let text = String::from_utf8_lossy(&shown.stdout);
        let lines = text.lines().filter(|line| line.contains('%')).take(40);
        lines.map(|line| line.chars().take(160).collect::<String>() + "\n").collect()
    }
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
