"""Writes the programs that docs/clients.md prints into a folder, as they are printed but for the addresses of the service and of a site."""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs/clients.md"
NAMES = ("producer.py", "worker.py", "relay.py", "asking.py")


def write(folder: Path, url: str, site: str = "https://site.example") -> list[Path]:
    programs = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    assert len(programs) == len(NAMES), programs
    paths = [folder / name for name in NAMES]
    for path, program in zip(paths, programs, strict=True):
        path.write_text(program.replace("https://queue.example", url).replace("https://site.example", site))
    return paths


if __name__ == "__main__":
    write(Path(sys.argv[1]), "https://queue.example")
