//! Makes the packages for npm and PyPI, which the binary carries: so that whoever gets one from a service gets what fits it, and
//! nobody needs Node or Python to build.

mod archive;
mod contents;

use std::{env, error::Error, fs, path::PathBuf};

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
    println!("cargo:rustc-env=INTRAY_WHEEL={}", contents::wheel_name(&version));
    Ok(())
}
