//! Small libraries that make a program see another clock or another disk, compiled when their source is newer.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

pub static CLOCK: LazyLock<PathBuf> = LazyLock::new(|| compiled("clock"));
pub static SLOW_DISK: LazyLock<PathBuf> = LazyLock::new(|| compiled("slow_disk"));
pub static FULL_DISK: LazyLock<PathBuf> = LazyLock::new(|| compiled("full_disk"));
pub static DEAD_FILE: LazyLock<PathBuf> = LazyLock::new(|| compiled("dead_file"));
pub static POWER: LazyLock<PathBuf> = LazyLock::new(|| compiled("power"));

fn compiled(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let shim = folder.join(format!("{name}.so"));
    let source = format!("{}/tests/shims/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    if changed(&shim) > changed(Path::new(&source)) {
        return shim;
    }
    let fresh = folder.join(format!("{name}-{}.so", std::process::id()));
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&fresh).arg(&source).status();
    assert!(compiled.expect("a C compiler, which Rust needs too").success(), "{source} does not compile");
    // Renamed, not overwritten: another run may have the old one mapped.
    fs::rename(&fresh, &shim).expect("a rename within a folder");
    shim
}
