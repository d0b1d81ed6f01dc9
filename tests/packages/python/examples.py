"""Writes the programs that pages print into a folder, as they are printed but for the addresses of the service and of a site. Those of
docs/ask.md that need other packages go into its folder `agents`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCUMENTS = Path(__file__).parents[3] / "docs"
NAMES = {
    "clients.md": ("producer.py", "worker.py", "relay.py", "asking.py"),
    "opinions.md": ("opinions.py",),
    "ask.md": (
        "agents/decision.py",
        "question.py",
        "questions.py",
        "agent_tool.py",
        "agents/langgraph_node.py",
        "agents/temporal_workflow.py",
    ),
}


def printed(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCUMENTS / page).read_text(), re.DOTALL | re.MULTILINE)


def write(folder: Path, url: str, site: str = "https://site.example", page: str = "clients.md") -> list[Path]:
    programs = printed(page, "python")
    assert len(programs) == len(NAMES[page]), programs
    paths = [folder / name for name in NAMES[page]]
    for path, program in zip(paths, programs, strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(program.replace("https://queue.example", url).replace("https://site.example", site))
    return paths


if __name__ == "__main__":
    for name in NAMES:
        write(Path(sys.argv[1]), "https://queue.example", page=name)
