"""What others' work is in the program: their notices as a text, and a list for machines (CycloneDX). Crates as cargo links them
into a release; what is vendored under web/ as it lies there."""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTICES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")


def cargo(*words):
    return subprocess.run(["cargo", *words, "--locked"], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def crates(triple):
    """(name, version) of what is linked; macros and build scripts run on the builder's machine only."""
    lines = cargo("tree", "-p", "intray", "-e", "normal,no-proc-macro", "--features", "jemalloc", "--target", triple,
                  "--prefix", "none", "--format", "{p}").splitlines()
    return sorted({tuple(line.replace(" v", " ", 1).split()[:2]) for line in lines if line})


def notices(folder):
    found = (path for path in folder.rglob("*") if path.is_file() and path.name.upper().startswith(NOTICES))
    return sorted(path for path in found if path.suffix.lower() not in (".rs", ".c", ".h", ".html"))


def licence(package):
    return (package["license"] or "see its notice").replace("/", " OR ").replace("  ", " ")


def text_of(packages):
    """Each text once, with all whose it is."""
    texts = {}
    for package in packages:
        for path in notices(pathlib.Path(package["manifest_path"]).parent):
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            texts.setdefault(text, []).append(f"{package['name']} {package['version']}")
    for path in sorted(ROOT.glob("web/*/vendor/*LICENSE*")):
        texts.setdefault(path.read_text(encoding="utf-8").strip(), []).append(path.name.split(".LICENSE")[0])
    yield "The program intray contains the following works of others, under these licences. The standard library of Rust is in it"
    yield "too: copyright The Rust Project Developers, MIT OR Apache-2.0."
    yield ""
    yield from (f"{package['name']} {package['version']}: {licence(package)}" for package in packages)
    for text, names in sorted(texts.items(), key=lambda pair: (pair[1], pair[0])):
        yield f"\n{'-' * 78}\n{', '.join(dict.fromkeys(names))}\n\n{text}"


def bill_of(packages, version):
    sums = {(p["name"], p["version"]): p.get("checksum") for p in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    components = [{
        "type": "library", "name": package["name"], "version": package["version"],
        "purl": f"pkg:cargo/{package['name']}@{package['version']}",
        "licenses": [{"expression": licence(package)}],
        "hashes": [{"alg": "SHA-256", "content": sums[package["name"], package["version"]]}],
    } for package in packages]
    for component in components:
        component["bom-ref"] = component["purl"]
        if "see its" in component["licenses"][0]["expression"]:
            del component["licenses"]
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {
        "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "component": {"type": "application", "name": "intray", "version": version, "bom-ref": "intray"},
    }, "components": components}


def main(triple, version, text, bill):
    linked = crates(triple)
    known = json.loads(cargo("metadata", "--format-version", "1", "--features", "jemalloc", "--filter-platform", triple))["packages"]
    by_name = {(package["name"], package["version"]): package for package in known}
    packages = [by_name[crate] for crate in linked if by_name[crate]["source"]]
    pathlib.Path(text).write_text("\n".join(text_of(packages)) + "\n", encoding="utf-8")
    pathlib.Path(bill).write_text(json.dumps(bill_of(packages, version), indent=1) + "\n", encoding="utf-8")


main(*sys.argv[1:])
