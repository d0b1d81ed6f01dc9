//! The packages in the binary: reproducible and complete.

#[allow(dead_code, reason = "the build makes both kinds, and so do these tests")]
#[path = "../../packages/archive.rs"]
mod archive;
#[path = "../../packages/contents.rs"]
mod contents;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Cursor, Read},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::tree;

const TARBALL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/client.tgz"));
const WHEEL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/client.whl"));
const VERSION: &str = env!("CARGO_PKG_VERSION");

type Files = BTreeMap<String, Vec<u8>>;

fn in_tarball() -> Files {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(TARBALL));
    let entries = tar.entries().expect("a tar").map(|entry| {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a name").to_string_lossy().into_owned();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).expect("its data");
        (name, data)
    });
    entries.collect()
}

fn in_wheel() -> Files {
    let mut zip = zip::ZipArchive::new(Cursor::new(WHEEL)).expect("a zip");
    let names: Vec<_> = zip.file_names().map(|name| name.expect("a name").into_owned()).collect();
    let read = |name: String| {
        let mut data = Vec::new();
        zip.by_name(&name).expect("it is there").read_to_end(&mut data).expect("its data");
        (name, data)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn packages_are_reproducible() {
    let made = contents::npm(&tree::root(), VERSION).expect("a tarball");
    assert!(made == TARBALL, "client.tgz");
    let made = contents::python(&tree::root(), VERSION).expect("a wheel");
    assert!(made == WHEEL, "{}", contents::wheel_name(VERSION));

    let [one, two] = ["a", "b"].map(|name| (name.to_owned(), name.as_bytes().to_vec()));
    let both = [vec![one.clone(), two.clone()], vec![two, one]];
    let [first, second] = both.clone().map(|files| archive::tarball(files).expect("a tarball"));
    assert!(first == second, "the order of files does not matter");
    let [first, second] = both.map(|files| archive::wheel("x", "1", files, Vec::new()).expect("a wheel"));
    assert!(first == second, "the order of files does not matter");
}

#[test]
fn package_of_another_version_is_refused() {
    for made in [contents::npm(&tree::root(), "9.9.9"), contents::python(&tree::root(), "9.9.9")] {
        let error = made.expect_err("another version").to_string();
        assert!(error.contains(VERSION) && error.contains("9.9.9"), "{error}");
    }
}

#[test]
fn npm_package_is_complete_and_unchanged() {
    let files = in_tarball();
    for (name, data) in &files {
        let own = name.strip_prefix("package/").expect("npm unpacks what is below package/");
        let place = if own.starts_with("LICENSE") { own.to_owned() } else { format!("web/client/{own}") };
        assert_eq!(tree::read(&place).as_bytes(), data, "{name}");
        let text = String::from_utf8_lossy(data);
        let (folder, _) = name.rsplit_once('/').expect("a folder");
        for import in text.split(" from '.").skip(1).filter_map(|rest| rest.split('\'').next()) {
            let file = match import.strip_prefix("./") {
                Some(above) => format!("{}/{above}", folder.rsplit_once('/').expect("a folder above").0),
                None => format!("{folder}{import}"),
            };
            assert!(files.contains_key(&file), "{name} imports {file}");
        }
    }
    for name in [
        "package.json",
        "client.d.ts",
        "react.js",
        "react.d.ts",
        "form.js",
        "form.d.ts",
        "form/form.css",
        "README.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
    ] {
        assert!(files.contains_key(&format!("package/{name}")), "{name}");
    }
}

#[test]
fn wheel_records_every_file() {
    let files = in_wheel();
    assert_eq!(contents::wheel_name(VERSION).split('-').count(), 5, "pip expects a version without a dash");
    let about = format!("intray_client-{VERSION}.dist-info");
    let record = String::from_utf8(files[&format!("{about}/RECORD")].clone()).expect("text");
    let recorded: BTreeSet<_> = record.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(recorded, files.keys().map(String::as_str).collect::<BTreeSet<_>>());
    for line in record.lines().filter(|line| !line.ends_with("RECORD,,")) {
        let [name, hash, size] = line.split(',').collect::<Vec<_>>().try_into().expect("three parts");
        let data = &files[name];
        assert_eq!(hash, format!("sha256={}", URL_SAFE_NO_PAD.encode(Sha256::digest(data))), "{name}");
        assert_eq!(size, data.len().to_string(), "{name}");
    }
    let metadata = String::from_utf8_lossy(&files[&format!("{about}/METADATA")]).into_owned();
    let (head, description) = metadata.split_once("\n\n").expect("a description after an empty line");
    assert!(head.contains(&format!("\nVersion: {VERSION}\n")) && head.contains("\nName: intray-client\n"), "{head}");
    assert!(!head.contains("Requires-Dist"), "it has no dependencies: {head}");
    assert_eq!(description, tree::read("packages/python/README.md"));
    for (path, text) in tree::files("packages/python/intray_client", &["py", "typed"]) {
        let name = path.trim_start_matches("packages/python/");
        assert_eq!(files.get(name).map(Vec::as_slice), Some(text.as_bytes()), "{name}");
    }
}
