"""Nothing that is printed, raised or logged gives a secret away."""

from __future__ import annotations

import logging
import traceback

from intray_client import Intray, IntrayError, Lost, Refused, Unavailable
from world import CUT, Story, problem

KEY = "hush-hush-hush-hush-hush-hush-hush-hush"


class Secrets(Story):
    def test_secrets_and_payloads_are_never_logged(self) -> None:
        intray = self.client(key=KEY)
        shown = [repr(intray)]
        with self.assertLogs("intray_client", logging.DEBUG) as logs:
            stored = intray.enqueue(self.queue, {"secret": "payload"})
            shown.append(repr(stored))
            [job] = intray.reserve([self.queue])
            reservation = self.wire.of("/jobs/reserve")[0].answer["jobs"][0]["reservation"]
            shown.append(repr(job))
            self.wire.once("/jobs/complete", problem(503, "unavailable", applied=False, retry_after_ms=10), CUT)
            job.complete({"secret": "result"})
            shown.append(repr(intray.job(stored.id)))
            for fails in (lambda: job.fail("x"), lambda: self.broken(intray)):
                try:
                    fails()
                except IntrayError:
                    shown.append(traceback.format_exc())
        for secret in (KEY, reservation, "payload'", "result'"):
            for text in (*shown, *logs.output):
                self.assertNotIn(secret, text)

    def broken(self, intray: Intray) -> None:
        self.wire.rule = lambda call: problem(401, "unauthorized")
        intray.enqueue(self.queue, 1)

    def test_key_invalid_in_a_header_is_refused_unseen(self) -> None:
        for key in (f"{KEY}\n", f"{KEY} {KEY}", "ä", "", "x" * 9_000):
            with self.assertRaises(ValueError) as caught:
                self.client(key=key)
            self.assertNotIn(KEY, str(caught.exception))

    def test_url_with_a_secret_is_refused_unseen(self) -> None:
        for url in (f"http://ann:{KEY}@queue.example", f"https://queue.example?key={KEY}", "queue.example", "ftp://x"):
            with self.assertRaises(ValueError) as caught:
                Intray(url)
            self.assertNotIn(KEY, str(caught.exception))

    def test_refused_key_is_renewed_once(self) -> None:
        keys = iter(["one", "two", "three"])
        intray = self.client(key=lambda: next(keys))
        self.wire.rule = lambda call: (
            problem(401, "unauthorized") if call.headers["authorization"] == "Bearer one" else None
        )
        intray.enqueue(self.queue, 1)
        intray.enqueue(self.queue, 2)
        used = [call.headers["authorization"] for call in self.wire.calls]
        self.assertEqual(used, ["Bearer one", "Bearer two", "Bearer two"])
        self.wire.rule = lambda call: problem(401, "unauthorized")
        with self.assertRaises(Refused):
            intray.enqueue(self.queue, 3)
        self.assertEqual(self.wire.calls[-1].headers["authorization"], "Bearer three")

    def test_lost_is_a_refusal_and_unavailable_is_not(self) -> None:
        self.assertTrue(issubclass(Lost, Refused))
        self.assertFalse(issubclass(Unavailable, Refused))
