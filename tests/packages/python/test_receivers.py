"""The receivers in examples/ and of docs/webhooks.md: what is genuine is accepted once, all else is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from intray_client import NotGenuine, verify
from test_webhooks import fresh, reference, signed
from world import Story, problem

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs/webhooks.md").read_text()
JOB = "reviews-01KAJ3V7Q2M8Z4R6T9XW5YB1CD"
DATA = {"queue": "reviews", "id": JOB, "state": "completed", "worker": "ann & <bob>", "payload": 17, "result": {"verdict": "fine"}}


def body(type: str = "job.completed", data: Any = DATA) -> str:
    return json.dumps({"type": type, "timestamp": "2026-11-21T09:18:21.900Z", "data": data})


class Receiver:
    """An example that runs, at a port of its own choice."""

    def __init__(self, test: unittest.TestCase, program: list[str], path: Path, secrets: list[str], **more: str) -> None:
        variables = {**os.environ, "WEBHOOK_SECRETS": " ".join(secrets), "PORT": "0", **more}
        command = [*program, str(path)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables)
        test.addCleanup(self._process.communicate)
        test.addCleanup(self._process.kill)
        found = re.fullmatch(r"listens on http://(\S+)", self.line())
        assert found
        self._host = found[1]

    def line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def post(self, headers: dict[str, str], text: str) -> int:
        connection = HTTPConnection(self._host, timeout=20)
        connection.request("POST", "/", text.encode(), headers)
        status = connection.getresponse().status
        connection.close()
        return status


class Slack:
    """Takes messages, or refuses them."""

    def __init__(self, test: unittest.TestCase) -> None:
        self.texts: list[str] = []
        self.status = 200
        slack = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["content-length"])))
                assert list(message) == ["text"], message
                if slack.status == 200:
                    slack.texts.append(message["text"])
                self.send_response(slack.status)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}/services/hush"
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)


def printed(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


class Receivers(unittest.TestCase):
    def takes_genuine_deliveries_once(self, program: list[str], name: str, says: str) -> None:
        old, new = fresh(), fresh()
        receiver = Receiver(self, program, EXAMPLES / name, [new, old])
        for refused in ({}, signed([fresh()], body()), signed([old], body(), at=1), signed([old], "another"),
                        {**signed([old], body()), "webhook-signature": "v1," + "ä" * 44}):
            self.assertEqual(receiver.post(refused, body()), 401)
        self.assertEqual(receiver.post(signed([old], body(), id="msg_1"), body()), 204)
        self.assertEqual(receiver.line(), says)
        # Again under the same id, and with the other secret: it is accepted and ignored, so the next line is another's.
        self.assertEqual(receiver.post(signed([fresh(), new], body(), id="msg_1"), body()), 204)
        test = body("intray.test", {})
        self.assertEqual(receiver.post(signed([new], test, id="msg_2"), test), 204)
        self.assertIn("intray.test", receiver.line())

    def test_python_receiver_takes_genuine_deliveries_once(self) -> None:
        says = f"job.completed {JOB} {{'verdict': 'fine'}}"
        self.takes_genuine_deliveries_once([sys.executable, "-I"], "webhook_receiver.py", says)

    def test_python_receiver_prints_what_no_terminal_can_show(self) -> None:
        key = fresh()
        for encoding in ("utf-8", "ascii"):
            receiver = Receiver(self, [sys.executable], EXAMPLES / "webhook_receiver.py", [key], PYTHONIOENCODING=encoding)
            for n, result in enumerate(("half \ud83d", "\u263a \U0001f600", "\x1b[2J")):
                text = body(data={**DATA, "result": result})
                self.assertEqual(receiver.post(signed([key], text, id=f"msg_{n}"), text), 204)
                self.assertEqual(receiver.line(), f"job.completed {JOB} {ascii(result)}")

    def test_node_receiver_takes_genuine_deliveries_once(self) -> None:
        self.takes_genuine_deliveries_once(["node"], "webhook_receiver.mjs", f'job.completed {JOB} {{"verdict":"fine"}}')

    def test_slack_relay_posts_each_event_once(self) -> None:
        slack, key = Slack(self), fresh()
        relay = Receiver(self, [sys.executable, "-I"], EXAMPLES / "webhook_to_slack.py", [key], SLACK_URL=slack.url)
        self.assertEqual(relay.post(signed([fresh()], body()), body()), 401)
        # Slack refuses it: the answer makes intray send it again.
        slack.status = 500
        self.assertEqual(relay.post(signed([key], body()), body()), 502)
        slack.status = 200
        for _ in range(2):
            self.assertEqual(relay.post(signed([key], body()), body()), 204)
        self.assertEqual(slack.texts, [f"{JOB} is completed, by ann &amp; &lt;bob&gt;"])
        test = body("intray.test", {})
        self.assertEqual(relay.post(signed([key], test, id="msg_2"), test), 204)
        self.assertEqual(slack.texts[1:], ["a test is sent"])

    def test_page_prints_the_examples(self) -> None:
        python, slack, _ = printed("python")
        self.assertEqual([python, slack], [(EXAMPLES / f"webhook_{name}.py").read_text() for name in ("receiver", "to_slack")])
        self.assertEqual(printed("js"), [(EXAMPLES / "webhook_receiver.mjs").read_text()])

    def test_examples_can_be_read_at_a_glance(self) -> None:
        sizes = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("webhook*")}
        self.assertEqual(sorted(sizes), ["webhook_receiver.mjs", "webhook_receiver.py", "webhook_to_slack.py"])
        self.assertLessEqual(max(sizes.values()), 45)


class Delivered(Story):
    """What the service itself sends."""

    posts: list[tuple[dict[str, str], bytes]]
    key: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.posts = posts = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                posts.append((dict(self.headers.items()), self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        command = [os.environ["INTRAY_BIN"], "webhook", "shop", f"http://127.0.0.1:{server.server_port}/", "*", "completed"]
        line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        cls.key = line.split()[4]
        folder = tempfile.mkdtemp(prefix="intray-webhooks-")
        cls.addClassCleanup(shutil.rmtree, folder)
        file = Path(folder, "webhooks")
        file.write_text(line)
        cls.flags = ("--webhooks-file", str(file))
        super().setUpClass()

    def test_delivery_of_the_service_is_genuine_for_both_libraries(self) -> None:
        job = self.plain.enqueue(self.queue, {"text": "größer 😀"})
        self.work_off(1, lambda payload: {"verdict": "fine"})
        self.eventually(lambda: len(self.posts) > 0)
        [(headers, text)] = self.posts
        event = verify(headers, text, [fresh(), self.key])
        self.assertEqual((event.type, event.data["id"], event.data["result"]), ("job.completed", job.id, {"verdict": "fine"}))
        self.assertEqual(event.data["payload"], {"text": "größer 😀"})
        with self.assertRaises(NotGenuine):
            verify(headers, text, fresh())
        for key, is_genuine in ((self.key, True), (fresh(), False)):
            self.assertEqual(reference("verify", secret=key, headers=headers, body=text.decode()), str(is_genuine))


class FollowUps(Story):
    def test_follow_up_job_is_made_once(self) -> None:
        program = Path(tempfile.mkdtemp(prefix="intray-follow-up-"), "follow_up.py")
        self.addCleanup(shutil.rmtree, program.parent)
        program.write_text(printed("python")[2].replace("https://queue.example", self.wire.url))
        key = fresh()
        receiver = Receiver(self, [sys.executable, "-I"], program, [key])
        approved, refused = (body(data={**DATA, "result": {"approved": answer, "args": {"eur": 120}}}) for answer in (True, False))
        self.assertEqual(receiver.post(signed([fresh()], approved), approved), 401)
        for number, status in enumerate((503, 204, 204)):
            # The first time the service does not take the job, so the delivery comes again.
            self.wire.rule = lambda call: problem(403, "forbidden") if number == 0 else None
            self.assertEqual(receiver.post(signed([key], approved, id="msg_1"), approved), status)
        self.assertEqual(receiver.post(signed([key], refused, id="msg_2"), refused), 204)
        self.assertEqual(self.payloads(), [{"refund": JOB}])
        keys = {call.headers["idempotency-key"] for call in self.wire.of("/jobs")}
        self.assertEqual(keys, {"msg_1"})

    def payloads(self) -> list[Any]:
        return [job.payload for job in self.plain.jobs("payments", "waiting")]
