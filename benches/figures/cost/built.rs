//! Functions that scripts build while they run, which costs more than a call of an existing one: found with Lua's own
//! compiler, in every file.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

const LUA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lua");

/// Where a function is built: the file, and the line where it ends.
pub type Place = (String, u32);

/// In all files of `lua/`, by the names that they require each other by.
pub fn places() -> Vec<Place> {
    let rooms = fs::read_dir(LUA).expect("lua/").flatten().filter(|room| room.path().is_dir());
    let files = rooms.flat_map(|room| fs::read_dir(room.path()).expect("a room").flatten());
    let mut places: Vec<_> = files.filter_map(|file| places_in(&file.path())).flatten().collect();
    places.sort();
    places
}

fn places_in(path: &Path) -> Option<Vec<Place>> {
    let name = path.strip_prefix(LUA).ok()?.to_str()?.strip_suffix(".lua")?;
    let text = fs::read_to_string(path).ok()?;
    Some(lines(&compiled(&text)).into_iter().map(|line| (name.to_owned(), line)).collect())
}

/// The compiler's listing of a text.
fn compiled(text: &str) -> String {
    let mut compiler = Command::new("luac5.1");
    compiler.args(["-l", "-p", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut compiler = compiler.spawn().expect("luac5.1");
    // Any number for a number that Rust knows: they are all of one kind.
    let text: Vec<_> =
        text.split('$').enumerate().map(|(n, part)| if n == 0 { part.to_owned() } else { number(part) }).collect();
    compiler.stdin.take().expect("a pipe").write_all(text.concat().as_bytes()).expect("the compiler reads");
    let listing = compiler.wait_with_output().expect("luac5.1");
    assert!(listing.status.success(), "luac5.1 does not take a file of lua/");
    String::from_utf8_lossy(&listing.stdout).into_owned()
}

fn number(named: &str) -> String {
    format!("0{}", named.trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '_'))
}

/// The lines at which a function builds another: `7 [22] CLOSURE 3 0 ; 0x…`, outside the file's main chunk.
fn lines(listing: &str) -> Vec<u32> {
    let (mut is_inside, mut lines) = (false, Vec::new());
    for line in listing.lines() {
        is_inside = line.starts_with("function <") || is_inside && !line.starts_with("main <");
        let mut words = line.split_whitespace().skip(1);
        if let (true, Some(at), Some("CLOSURE")) = (is_inside, words.next(), words.next()) {
            lines.extend(at.trim_matches(['[', ']']).parse::<u32>());
        }
    }
    lines
}
