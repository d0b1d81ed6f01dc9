"""The programs that the documents print, with the package that is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import metadata
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import intray_client
from examples import write
from world import Story


class Site:
    """Takes what is posted to it."""

    def __init__(self) -> None:
        self.posts: list[Any] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                site.posts.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Documents(Story):
    def setUp(self) -> None:
        super().setUp()
        self.queue = "photos"
        folder = tempfile.TemporaryDirectory(prefix="intray-examples-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.site = Site()
        self.addCleanup(self.site.stop)
        self.producer, self.worker, self.relay, self.asking = write(Path(self.folder), self.service.url, self.site.url)

    def start(self, program: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-I", str(program)], stdout=subprocess.PIPE, text=True, cwd=self.folder)

        def end() -> None:
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def test_ten_thousand_are_enqueued_and_their_results_read(self) -> None:
        process = self.start(self.producer)
        self.work_off(10_000, lambda payload: {"verdict": "fine" if payload["photo"] % 4 else "bad"})
        output, _ = process.communicate(timeout=60)
        self.assertEqual(output, "10000 are in line\n{'bad': 2500, 'fine': 7500}\n")
        lines = [line for line in self.producer.read_text().splitlines() if line.strip()]
        self.assertLessEqual(len(lines), 15)

    def test_documented_worker_processes_jobs(self) -> None:
        jobs = self.plain.enqueue_many(self.queue, [{"photo": number} for number in range(20)])
        self.start(self.worker)
        verdicts = [self.plain.wait(job.id, timeout=30).result["verdict"] for job in jobs]
        self.assertEqual(verdicts, ["bad", "fine"] * 10)

    def test_relay_posts_each_result_once_over_a_restart(self) -> None:
        place = Path(self.folder, "photos.place")
        results = [job.id for job in self.plain.feed(self.queue, follow=False)]
        for _ in range(2):
            stored = self.plain.enqueue_many(self.queue, [{"photo": -len(results) - n} for n in range(3)])
            process = self.start(self.relay)
            self.work_off(3, lambda payload: {"verdict": "fine"})
            results += [job.id for job in stored]
            self.eventually(lambda: len(self.site.posts) >= len(results))
            feed = self.plain.feed(self.queue, follow=False)
            self.assertEqual([job.id for job in feed][-3:], results[-3:])
            self.eventually(lambda: place.exists() and place.read_text() == feed.after)
            process.kill()
            process.wait()
        self.assertEqual(sorted(post["id"] for post in self.site.posts), sorted(results))

    def test_documented_asyncio_example_runs(self) -> None:
        process = self.start(self.asking)
        self.eventually(lambda: self.queue_has(200))
        self.work_off(200)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(output, "200 are answered\n")

    def queue_has(self, waiting: int) -> bool:
        return any(queue.name == self.queue and queue.counts["waiting"] == waiting for queue in self.plain.queues())

    def test_wheel_is_complete_without_dependencies(self) -> None:
        about = metadata("intray-client")
        self.assertEqual((about["Name"], about.get_all("Requires-Dist")), ("intray-client", None))
        place = Path(intray_client.__file__)
        self.assertIn("site-packages", place.parts)
        self.assertTrue((place.parent / "py.typed").exists())
