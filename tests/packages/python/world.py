"""A service with a private server of its own, and a wire to it that breaks when a story says so."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from intray_client import Intray
from intray_client._blocking import run


@dataclass
class Call:
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    status: int | None = None
    answer: Any = None

    @property
    def is_of_lines(self) -> bool:
        return self.headers.get("accept") == "application/x-ndjson"


@dataclass
class Fate:
    """What becomes of a call that is not just passed on."""

    status: int
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


#: Nobody answers; or the service did it, and the answer is lost.
CUT, LOSE = Fate(-1), Fate(-2)


def problem(status: int, slug: str, **more: Any) -> Fate:
    return Fate(status, {"type": f"/problems/{slug}", "title": slug, "status": status, "detail": f"it is {slug}", **more})


def lines(*values: Any) -> Fate:
    """An answer by lines."""
    return Fate(200, "".join(json.dumps(value) + "\n" for value in values).encode(), {"content-type": "application/x-ndjson"})


def usual_signals() -> None:
    """Before a child starts: `nohup` and a shell's background leave signals ignored, and a child inherits that."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Service:
    def __init__(self, *flags: str) -> None:
        self._data = tempfile.mkdtemp(prefix="intray-packages-")
        self._flags = flags
        self.start()

    def start(self) -> None:
        """At a port of its own each time, with the same data."""
        # Redis has so long to answer, that no busy machine fails a story.
        own = ["--listen", "127.0.0.1:0", "--data-dir", self._data, "--redis-timeout-ms", "30000"]
        command = [os.environ["INTRAY_BIN"], *own, *self._flags]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self._process.stdout
        output = ""
        for line in self._process.stdout:
            output += line
            if ready := re.search(r"intray is ready on (http:\S+)", line):
                self.url = ready[1]
                break
        else:
            raise AssertionError(f"the service did not start:\n{output}")
        # Or it stands still when the pipe is full.
        self._reader = threading.Thread(target=self._process.stdout.read, daemon=True)
        self._reader.start()

    def kill(self) -> None:
        """SIGKILL."""
        self._end(self._process.kill)

    def _end(self, by: Callable[[], None]) -> None:
        by()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout
        self._process.stdout.close()

    def stop(self) -> None:
        self._end(self._process.terminate)
        shutil.rmtree(self._data, ignore_errors=True)


class Wire:
    """Writes down every call; `rule` decides what becomes of it."""

    def __init__(self, url: str) -> None:
        self.calls: list[Call] = []
        self.rule: Callable[[Call], Fate | None] = lambda call: None
        wire = self
        self.lead_to(url)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do(self) -> None:
                text = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                call = Call(self.command, self.path, headers, json.loads(text) if text else None)
                wire.calls.append(call)
                fate = wire.rule(call)
                if fate is not None and fate.status > 0:
                    body = fate.body if isinstance(fate.body, bytes) else json.dumps(fate.body).encode()
                    return self.give(fate.status, fate.headers, body)
                if fate is not CUT:
                    status, given, body = wire.pass_on(call, text)
                    if fate is not LOSE:
                        return self.give(status, given, body)
                self.close_connection = True

            def give(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = do_PATCH = do

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client may close what it does not read to its end."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def lead_to(self, url: str) -> None:
        self._host = url.removeprefix("http://")

    def pass_on(self, call: Call, text: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self._host, timeout=60)
        own = {name: value for name, value in call.headers.items() if name not in ("host", "connection", "content-length")}
        connection.request(call.method, call.path, text or None, own)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        call.status = response.status
        call.answer = [json.loads(line) for line in body.splitlines()] if call.is_of_lines else json.loads(body)
        kept = {name: value for name, value in response.getheaders() if name in ("retry-after", "content-type")}
        return response.status, kept, body

    def ask(self, call: Call) -> Any:
        """What the service answers to it."""
        self.pass_on(call, b"" if call.body is None else json.dumps(call.body).encode())
        return call.answer

    def of(self, path: str) -> list[Call]:
        return [call for call in self.calls if call.path.split("?")[0] == path]

    def once(self, path: str, *fates: Fate) -> None:
        """The first calls of a path meet these, one each."""
        left = list(fates)
        self.rule = lambda call: left.pop(0) if left and call.path.split("?")[0] == path else None

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Story(unittest.TestCase):
    """Each with a queue and a wire of its own; one service for all of a file."""

    flags: tuple[str, ...] = ()
    service: Service

    @classmethod
    def setUpClass(cls) -> None:
        cls.service = Service("--sweep-interval-ms", "100", *cls.flags)
        cls.addClassCleanup(cls.service.stop)

    def setUp(self) -> None:
        self.wire = Wire(self.service.url)
        self.addCleanup(self.wire.stop)
        self.queue = re.sub(r"[^a-z0-9]+", "-", self._testMethodName.lower())[:60]
        self.intray = self.client()
        self.plain = Intray(self.service.url)  # whom no wire hinders
        self.addCleanup(self.plain.close)

    def client(self, **how: Any) -> Intray:
        intray = Intray(self.wire.url, **{"retry_for": 20.0, **how})
        self.addCleanup(intray.close)
        return intray

    def counts(self) -> dict[str, int]:
        connection = http.client.HTTPConnection(self.service.url.removeprefix("http://"))
        connection.request("GET", f"/queues/{self.queue}")
        state = json.loads(connection.getresponse().read())
        connection.close()
        return Counter(state.get("counts", {}))  # a queue that is not there yet has no jobs

    def set(self, **settings: Any) -> None:
        self.assertIn(self.post(f"/queues/{self.queue}", json.dumps(settings).encode(), "PATCH"), (200, 201))

    def post(self, path: str, body: bytes, method: str = "POST") -> int:
        connection = http.client.HTTPConnection(self.service.url.removeprefix("http://"))
        connection.request(method, path, body, {"content-type": "application/json"})
        status = connection.getresponse().status
        connection.close()
        return status

    def work_off(self, count: int, verdict: Callable[[Any], Any] = lambda payload: payload) -> None:
        """Completes a number of jobs in bulk."""
        while count:
            jobs = self.plain.reserve([self.queue], limit=min(100, count), wait=10)
            done = [{"reservation": job._reservation, "result": verdict(job.payload)} for job in jobs]
            if done:
                run(self.plain._caller.call("POST", "/jobs/complete", done))
            count -= len(jobs)

    def eventually(self, ask: Callable[[], bool], within: float = 20.0) -> None:
        end = time.monotonic() + within
        while not ask():
            self.assertLess(time.monotonic(), end, "never")
            time.sleep(0.01)
