//! What is in the packages for npm and PyPI, read from the sources. Their version is that of the service, which hands them out.

use std::{error::Error, fs, path::Path};

use serde_json::Value;

use super::archive::{self, File};

/// The name of the Python package in the name of its wheel, and of its module.
const MODULE: &str = "intray_client";
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
const WHEEL: &str = "Wheel-Version: 1.0\nGenerator: intray\nRoot-Is-Purelib: true\nTag: py3-none-any\n";

type Made = Result<Vec<u8>, Box<dyn Error>>;

/// `intray-client` for npm: the files that its `package.json` lists.
pub fn npm(root: &Path, version: &str) -> Made {
    let folder = root.join("web/client");
    let manifest = read(&folder, "package.json")?;
    let manifest_json: Value = serde_json::from_slice(&manifest.1)?;
    same_version("web/client/package.json", manifest_json["version"].as_str(), version)?;
    let listed = manifest_json["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut files = listed.map(|name| read(&folder, name)).collect::<Result<Vec<_>, _>>()?;
    files.push(manifest);
    for name in LICENSES {
        files.push(read(root, name)?);
    }
    Ok(archive::tarball(files)?)
}

/// `intray-client` for PyPI, as a wheel.
pub fn python(root: &Path, version: &str) -> Made {
    let folder = root.join("packages/python");
    let (_, mut about) = read(&folder, "METADATA")?;
    let text = std::str::from_utf8(&about)?;
    let found = text.lines().find_map(|line| line.strip_prefix("Version: "));
    same_version("packages/python/METADATA", found, version)?;
    // The description follows an empty line.
    about.push(b'\n');
    about.extend(read(&folder, "README.md")?.1);

    let mut files = Vec::new();
    for entry in fs::read_dir(folder.join(MODULE))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".py") || name == "py.typed" {
            files.push(read(&folder, &format!("{MODULE}/{name}"))?);
        }
    }
    let mut metadata = vec![("METADATA".to_owned(), about), ("WHEEL".to_owned(), WHEEL.into())];
    for name in LICENSES {
        metadata.push((format!("licenses/{name}"), read(root, name)?.1));
    }
    Ok(archive::wheel(MODULE, version, files, metadata)?)
}

/// The name that a wheel must have wherever it is got from.
pub fn wheel_name(version: &str) -> String {
    format!("{MODULE}-{version}-py3-none-any.whl")
}

fn read(folder: &Path, name: &str) -> Result<File, Box<dyn Error>> {
    let path = folder.join(name);
    let data = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok((name.to_owned(), data))
}

fn same_version(place: &str, found: Option<&str>, version: &str) -> Result<(), Box<dyn Error>> {
    if found == Some(version) {
        return Ok(());
    }
    Err(format!("{place} says version {}, Cargo.toml {version}", found.unwrap_or("nothing")).into())
}
