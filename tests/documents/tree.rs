//! The files of the project.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The folders with the sources of each package.
pub fn sources() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).expect("crates/").flatten();
    let mut folders: Vec<_> =
        crates.map(|entry| format!("crates/{}/src", entry.file_name().to_string_lossy())).collect();
    folders.push("src".to_owned());
    folders
}

/// Every file of these kinds below a folder, with its text. Vendored files are left out.
pub fn files(folder: &str, kinds: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(&root().join(folder), kinds, &mut found);
    found.sort();
    found
}

fn walk(folder: &Path, kinds: &[&str], found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())).flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_symlink() {
            continue; // read at its own place
        }
        if path.is_dir() && !["vendor", "node_modules", "generated", ".mypy_cache"].contains(&name.as_str()) {
            walk(&path, kinds, found);
        } else if path.extension().is_some_and(|kind| kinds.iter().any(|k| kind == *k)) {
            let named = path.strip_prefix(root()).expect("it is below").to_string_lossy().into_owned();
            let text = read(&named);
            found.push((named, text));
        }
    }
}
