"""The Python package as source, made of its wheel: `sdist.py WHEEL SDIST`. An installer makes the wheel's files of it again."""

import gzip
import io
import os
import sys
import tarfile
import zipfile

PYPROJECT = """[build-system]
requires = ["flit_core >=3.11,<4"]
build-backend = "flit_core.buildapi"

[project]
name = "{Name}"
version = "{Version}"
description = "{Summary}"
readme = "README.md"
requires-python = "{Requires-Python}"
license = "{License-Expression}"
license-files = ["LICENSE-APACHE", "LICENSE-MIT"]
classifiers = ["{Classifier}"]

[tool.flit.module]
name = "intray_client"
"""


def main(wheel, sdist):
    files = {}
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            folder, _, rest = name.partition("/")
            if not folder.endswith(".dist-info"):
                files[name] = packed.read(name)
            elif rest.startswith("licenses/"):
                files[rest.removeprefix("licenses/")] = packed.read(name)
            elif rest == "METADATA":
                files["PKG-INFO"] = packed.read(name)
    head, _, files["README.md"] = files["PKG-INFO"].partition(b"\n\n")
    fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
    files["pyproject.toml"] = PYPROJECT.format_map(fields).encode()

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(f"intray_client-{fields['Version']}/{name}")
            entry.size, entry.mode, entry.mtime = len(files[name]), 0o644, int(os.environ["SOURCE_DATE_EPOCH"])
            tar.addfile(entry, io.BytesIO(files[name]))
    with open(sdist, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as out:
        out.write(packed.getvalue())


main(*sys.argv[1:])
