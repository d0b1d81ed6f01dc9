//! Makes the packages for npm and PyPI, which the binary embeds, so that a service always serves the packages that fit it, and
//! the build needs neither Node nor Python. And looks up which commit a release is built of.

mod archive;
mod commit;
mod contents;

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    for path in ["web/client", "packages", "LICENSE-APACHE", "LICENSE-MIT"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let variable = |name| env::var(name).map_err(|e| format!("{name}: {e}"));
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let version = variable("CARGO_PKG_VERSION")?;
    fs::write(out.join("client.tgz"), contents::npm(&root, &version)?)?;
    fs::write(out.join("client.whl"), contents::python(&root, &version)?)?;
    println!("cargo:rustc-env=BUILT_WHEEL={}", contents::wheel_name(&version));
    let commit = commit_of(&root, &variable("PROFILE")?);
    println!("cargo:rustc-env=BUILT_COMMIT={}", commit.as_deref().unwrap_or_default());
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo:rustc-env=BUILT_VERSION={version}{commit}");
    Ok(())
}

/// Only releases name the commit: in development each commit would cause a complete rebuild.
fn commit_of(root: &Path, profile: &str) -> Option<String> {
    if profile != "release" {
        return None;
    }
    let commit = commit::of(root)?;
    commit::watched(root).iter().for_each(|path| println!("cargo:rerun-if-changed={}", path.display()));
    Some(commit)
}
