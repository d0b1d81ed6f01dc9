"""The table of retries.json, which a test of each client reads."""

from __future__ import annotations

import json
import logging
import unittest
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any
from unittest import mock

from intray_client import Intray, Refused, Unavailable
from intray_client._blocking import run
from intray_client._caller import CONSUMER, PRODUCER, Caller
from intray_client._patience import SHUT_TRIES
from world import CUT, Fate, Wire, problem

TABLE = json.loads((Path(__file__).parents[2] / "retries.json").read_text())
OWN = TABLE["clients"]["python"]
#: What is sent again so often is sent for as long as the client is patient.
ENOUGH = 2 * OWN["tries"]

Case = dict[str, Any]

FAILURES = {
    "no connection": CUT,
    "cut before the answer": CUT,
    "cut within the answer": Fate(200, b"{", {"content-length": "99", "connection": "close"}),
}


class Enough(Exception):
    pass


def fate(case: Case) -> Fate:
    headers = {"retry-after": case["retry_after"]} if "retry_after" in case else {}
    if "failure" in case:
        return FAILURES[case["failure"]]
    if "problem" not in case:
        return Fate(case["status"], b"" if case["status"] == 204 else b"<h1>No</h1>", headers)
    more = {"retry_after_ms": case["retry_after_ms"]} if "retry_after_ms" in case else {}
    own = problem(case["status"], case["problem"], **more)
    return Fate(own.status, own.body, headers)


class Retries(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.WARNING)
        self.addCleanup(logging.disable, logging.NOTSET)

    def ask(self, case: Case, key: str | Callable[[], str]) -> tuple[list[str | None], list[float], Exception]:
        """The keys that were sent, the pauses, in milliseconds, and the error that ended the call."""
        wire = Wire("http://127.0.0.1:1")
        wire.rule = lambda call: fate(case)
        if case.get("failure") == "no connection":
            wire.stop()
        else:
            self.addCleanup(wire.stop)
        intray = Intray(wire.url, key=key)
        self.addCleanup(intray.close)
        pauses: list[float] = []

        async def rest(caller: Caller, soonest: float, latest: float, stop: Any) -> None:
            pauses.append(latest * 1_000)
            if len(pauses) == ENOUGH:
                raise Enough

        with mock.patch.object(Caller, "_rest", rest), self.assertRaises((Refused, Unavailable, Enough)) as caught:
            run(intray._caller.call("POST", "/jobs", {}, key="key", retry_for=inf))
        return [call.headers.get("authorization") for call in wire.calls], pauses, caught.exception

    def final(self, case: Case, rule: Case) -> None:
        keys, pauses, error = self.ask(case, "a")
        self.assertEqual((keys, pauses), (["Bearer a"], []))
        assert isinstance(error, Refused)
        self.assertEqual((error.status, error.is_own), (case["status"], True))

    def few(self, case: Case, rule: Case) -> None:
        keys, _, error = self.ask(case, "a")
        self.assertEqual(len(keys), OWN["tries"])
        assert isinstance(error, (Refused, Unavailable))
        self.assertFalse(error.is_own if isinstance(error, Refused) else not error.is_foreign)

    def again(self, case: Case, rule: Case) -> None:
        _, pauses, error = self.ask(case, "a")
        self.assertIsInstance(error, Enough)
        shortest, longest = rule.get("wait_ms", OWN["pause_ms"])
        self.assertTrue(shortest <= pauses[0] <= longest, pauses)

    def new_key(self, case: Case, rule: Case) -> None:
        given = iter("ab")
        keys, pauses, error = self.ask(case, lambda: next(given))
        self.assertEqual((keys, pauses, type(error)), (["Bearer a", "Bearer b"], [], Refused))
        self.final(case, rule)

    def test_package_follows_the_table_of_retries(self) -> None:
        rules = {"final": self.final, "few": self.few, "again": self.again, "wait": self.again, "new key": self.new_key}
        for case in TABLE["cases"]:
            rule = case.get("but", {}).get("python", case)
            with self.subTest(**{name: value for name, value in case.items() if name != "but"}):
                rules[rule["do"]](case, rule)

    def test_package_is_as_patient_as_the_table_says(self) -> None:
        self.assertEqual((OWN["patience_s"], OWN["tries"]), ([PRODUCER, CONSUMER], SHUT_TRIES))
