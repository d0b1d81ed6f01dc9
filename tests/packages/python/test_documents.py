"""The programs that the documents print, with the package that is installed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import metadata
from pathlib import Path

import intray_client
from examples import write
from world import Story


class Documents(Story):
    def setUp(self) -> None:
        super().setUp()
        self.queue = "photos"
        folder = tempfile.TemporaryDirectory(prefix="intray-examples-")
        self.addCleanup(folder.cleanup)
        self.producer, self.worker = write(Path(folder.name), self.service.url)

    def start(self, program: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-I", str(program)], stdout=subprocess.PIPE, text=True)

        def end() -> None:
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def test_ten_thousand_are_enqueued_and_their_results_read(self) -> None:
        process = self.start(self.producer)
        self.work_off(10_000, lambda payload: {"verdict": "fine" if payload["photo"] % 4 else "bad"})
        said, _ = process.communicate(timeout=60)
        self.assertEqual(said, "10000 are in line\n{'bad': 2500, 'fine': 7500}\n")
        lines = [line for line in self.producer.read_text().splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 15)

    def test_a_worker_does_what_is_there(self) -> None:
        jobs = self.plain.enqueue_many(self.queue, [{"photo": number} for number in range(20)])
        self.start(self.worker)
        verdicts = [self.plain.wait(job.id, timeout=30).result["verdict"] for job in jobs]
        self.assertEqual(verdicts, ["bad", "fine"] * 10)

    def test_it_is_installed_whole_and_brings_nothing(self) -> None:
        about = metadata("intray-client")
        self.assertEqual((about["Name"], about.get_all("Requires-Dist")), ("intray-client", None))
        place = Path(intray_client.__file__)
        self.assertIn("site-packages", place.parts)
        self.assertTrue((place.parent / "py.typed").exists())
