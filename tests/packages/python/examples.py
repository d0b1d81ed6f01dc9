"""Writes the programs that docs/clients.md prints into a folder, as they are printed but for the address of the service."""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs/clients.md"
NAMES = ("producer.py", "worker.py")


def write(folder: Path, url: str) -> list[Path]:
    programs = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    assert len(programs) == len(NAMES), programs
    paths = [folder / name for name in NAMES]
    for path, program in zip(paths, programs, strict=True):
        path.write_text(program.replace("https://queue.example", url))
    return paths


if __name__ == "__main__":
    write(Path(sys.argv[1]), "https://queue.example")
