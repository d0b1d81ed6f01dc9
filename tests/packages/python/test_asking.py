"""A person is asked under a key: one job, one answer, and nothing else is taken for one."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any
from unittest import mock

from intray_client import (
    Answer,
    AsyncIntray,
    Dead,
    Expired,
    Forgotten,
    Intray,
    NoAnswer,
    Refused,
    StillOpen,
    Unavailable,
    Withdrawn,
)
from world import CUT, LOSE, Call, Fate, Service, Story, Wire, problem

PAYLOAD = {"tool": "refund", "args": {"eur": 180}, "note": '"state":"completed"'}


class Asking(Story):
    """The asking calls of both clients."""

    @abstractmethod
    def ask(self, payload: Any = PAYLOAD, key: Any = "run-17-refund-3", **how: Any) -> Answer: ...

    def asking(self, **how: Any) -> Callable[[], Answer]:
        """Begins to ask, and answers what waits for the outcome."""
        outcomes: list[Any] = []

        def ask() -> None:
            try:
                outcomes.append(self.ask(**how))
            except BaseException as error:
                outcomes.append(error)

        thread = threading.Thread(target=ask)
        thread.start()

        def outcome() -> Answer:
            thread.join(60)
            [outcome] = outcomes
            if isinstance(outcome, BaseException):
                raise outcome
            assert isinstance(outcome, Answer)
            return outcome

        return outcome

    def asked(self, plain: Intray | None = None) -> str:
        """The id of the job, once it waits."""
        plain = plain or self.plain
        ids: list[str] = []

        def is_there() -> bool:
            try:
                ids[:] = [job.id for job in plain.jobs(self.queue, "waiting")]
            except Refused:
                return False
            return bool(ids)

        self.eventually(is_there)
        return ids[0]

    def decide(self, result: Any, plain: Intray | None = None) -> None:
        [job] = (plain or self.plain).reserve([self.queue], worker="ann", wait=10)
        job.complete(result)

    def test_answer_is_what_the_person_decided(self) -> None:
        outcome = self.asking(expires=900, priority=90, client="agent")
        self.asked()
        self.decide({"approved": True})
        answer, job = outcome(), self.plain.job(self.wire.of("/jobs")[0].answer["id"])
        assert job.completed
        self.assertEqual(answer, Answer({"approved": True}, "ann", job.id, job.completed["at"]))
        [sent] = self.wire.of("/jobs")
        self.assertEqual(sent.headers["idempotency-key"], "run-17-refund-3")
        expected = {"queue": self.queue, "payload": PAYLOAD, "priority": 90, "client": "agent", "dedupe": False, "expires_ms": 900_000}
        self.assertEqual(sent.body, expected)
        self.assertEqual(self.wire.calls[1].path, f"/jobs/{job.id}?wait_ms=30000")
        self.assertNotIn("approved", repr(answer))

    def test_question_can_be_for_some_people(self) -> None:
        routing = {"assignees": ["ann"], "excluded": ["bob"], "skill": "refunds", "fallback_ms": 3_600_000}
        outcome = self.asking(timeout=30, **routing)
        self.asked()
        self.assertEqual({name: self.wire.of("/jobs")[0].body[name] for name in routing}, routing)
        for worker, skills in (("bob", ["refunds"]), ("carol", ["refunds"]), ("ann", [])):
            self.assertEqual(self.plain.reserve([self.queue], worker=worker, skills=skills), [])
        [job] = self.plain.reserve([self.queue], worker="ann", skills=["refunds"])
        job.complete("yes")
        self.assertEqual(outcome().worker, "ann")

    def test_same_key_gets_the_same_answer_again(self) -> None:
        outcome = self.asking()
        self.asked()
        self.decide("yes")
        first = outcome()
        self.assertEqual([self.ask() for _ in range(3)], [first] * 3)
        self.assertEqual(self.counts()["waiting"], 0)

    def test_equal_questions_under_two_keys_are_two_jobs(self) -> None:
        outcomes = [self.asking(key=key) for key in ("one", "two")]
        self.eventually(lambda: len(self.wire.of("/jobs")) == 2)
        self.eventually(lambda: self.counts()["waiting"] == 2)
        for result in ("yes", "no"):
            self.decide(result)
        self.assertEqual({outcome().result for outcome in outcomes}, {"yes", "no"})

    def test_other_payload_under_a_used_key_is_refused(self) -> None:
        with self.assertRaises(StillOpen):
            self.ask(timeout=0)
        with self.assertRaises(Refused) as caught:
            self.ask({"tool": "refund", "args": {"eur": 18_000}})
        self.assertEqual((caught.exception.status, caught.exception.type), (422, "/problems/idempotency-key-reused"))

    def test_timeout_of_zero_asks_and_does_not_wait(self) -> None:
        with self.assertRaises(TimeoutError) as caught:
            self.ask(timeout=0)
        assert isinstance(caught.exception, StillOpen)
        self.assertEqual(caught.exception.job, self.asked())
        self.assertEqual([call.path for call in self.wire.calls], ["/jobs", f"/jobs/{caught.exception.job}?wait_ms=0"])
        self.decide("yes")
        self.assertEqual(self.ask(timeout=0).result, "yes")

    def test_timeout_leaves_the_question_open(self) -> None:
        start = time.monotonic()
        with self.assertRaises(StillOpen):
            self.ask(timeout=0.5)
        self.assertTrue(0.5 <= time.monotonic() - start < 5.0)
        self.assertEqual(self.plain.job(self.asked()).state, "waiting")

    def test_withdrawn_and_dead_questions_are_no_answers(self) -> None:
        outcome = self.asking()
        id = self.asked()
        self.plain.cancel(id)
        with self.assertRaises(Withdrawn) as withdrawn:
            outcome()
        self.assertEqual(withdrawn.exception.job, id)
        outcome = self.asking(key="another", max_attempts=1)
        id = self.asked()
        [job] = self.plain.reserve([self.queue])
        job.fail("no such customer")
        with self.assertRaises(Dead) as dead:
            outcome()
        self.assertEqual(dead.exception.job, id)

    def test_expired_question_is_no_answer(self) -> None:
        """Needs a service that knows `expires_ms`."""
        with self.assertRaises(Expired) as caught:
            self.ask(expires=1)
        job = self.plain.job(caught.exception.job)
        self.assertEqual((job.state, job.cancelled, job.completed), ("cancelled", {"reason": "expired"}, None))
        with self.assertRaises(Expired):
            self.ask(expires=1)

    def test_cancelled_job_without_a_reason_is_withdrawn(self) -> None:
        """A service that does not say why."""

        outcome = self.asking()
        id = self.asked()

        def rule(call: Call) -> Fate | None:
            return Fate(200, {**self.wire.ask(call), "cancelled": None}) if call.method == "GET" else None

        self.wire.rule = rule
        self.plain.cancel(id)
        with self.assertRaises(Withdrawn):
            outcome()
        with self.assertRaises(Withdrawn):
            self.ask()

    def test_question_that_is_not_kept_is_forgotten(self) -> None:
        def rule(call: Call) -> Fate | None:
            if call.method == "GET":
                self.decide("yes")
                self.plain.purge(self.queue, "completed")
            return None

        self.wire.rule = rule
        with self.assertRaises(Forgotten) as caught:
            self.ask()
        self.assertEqual(caught.exception.job, self.wire.of("/jobs")[0].answer["id"])
        self.assertIn("is no longer kept", str(caught.exception))

    def test_refusals_are_raised_at_once(self) -> None:
        for status, slug in ((401, "unauthorized"), (403, "forbidden"), (422, "invalid-request")):
            for method in ("POST", "GET"):
                self.wire.calls.clear()
                fate = problem(status, slug)
                self.wire.rule = lambda call, method=method, fate=fate: fate if call.method == method else None  # type: ignore[misc]
                with self.assertRaises(Refused) as caught:
                    self.ask()
                self.assertEqual(caught.exception.status, status)
                self.assertEqual(len([call for call in self.wire.calls if call.method == method]), 1)

    def test_bad_keys_are_raised_at_once(self) -> None:
        for key in ("", "x" * 257, "Münze", "a\nb", None, 17):
            with self.assertRaises(ValueError):
                self.ask(key=key)
        self.assertEqual(self.wire.calls, [])

    def test_failures_are_retried_with_the_same_key(self) -> None:
        fates = [CUT, problem(503, "unavailable", applied="unknown"), LOSE, None, CUT, Fate(502, "a proxy"), LOSE]
        self.wire.rule = lambda call: fates.pop(0) if fates else None
        outcome = self.asking()
        self.asked()
        self.eventually(lambda: not fates)
        self.decide("yes")
        self.assertEqual(outcome().result, "yes")
        self.assertEqual({call.headers["idempotency-key"] for call in self.wire.of("/jobs")}, {"run-17-refund-3"})
        self.assertEqual(self.plain.queue(self.queue).totals["enqueued"], 1)

    def test_retries_end_with_the_timeout(self) -> None:
        self.wire.rule = lambda call: problem(503, "unavailable", applied=False)
        start = time.monotonic()
        with self.assertRaises(Unavailable) as caught:
            self.ask(timeout=0.6)
        self.assertIs(caught.exception.applied, False, "it was never asked")
        self.wire.rule = lambda call: CUT if call.method == "GET" else None
        with self.assertRaises(StillOpen):
            self.ask(timeout=0.6)
        self.assertLess(time.monotonic() - start, 5.0)

    def test_wait_after_a_lost_connection_ends_with_the_timeout(self) -> None:
        def rule(call: Call) -> Fate | None:
            if call.method == "GET" and len(self.wire.calls) == 2:
                time.sleep(6)  # The connection breaks when most of the time is over.
                return CUT
            return None

        self.wire.rule = rule
        with self.assertRaises(StillOpen):
            self.ask(timeout=8)
        first, *rest = [int(call.path.rsplit("=", 1)[1]) for call in self.wire.calls if call.method == "GET"]
        self.assertTrue(first > 2_000 >= max(rest), (first, rest))

    def test_foreign_answers_are_never_taken_for_a_yes(self) -> None:
        pages: list[Any] = [{"state": "completed", "result": "yes"}, {"id": "x", "state": "completed"}, [], "yes", {"id": 1}, None]
        left = [Fate(200, page) for page in pages[:3]]
        faster = mock.patch("intray_client._patience.FIRST", 0.02)
        faster.start()
        self.addCleanup(faster.stop)
        for method in ("POST", "GET"):
            self.wire.rule = lambda call, method=method: left.pop() if left and call.method == method else None  # type: ignore[misc]
            with self.assertRaises(StillOpen):
                self.ask(key=method, timeout=1)
            self.assertEqual(left, [])
            left = [Fate(200, page) for page in pages[3:]]

    def test_answer_outlives_a_killed_service(self) -> None:
        service = Service("--sweep-interval-ms", "100")
        self.addCleanup(service.stop)
        self.wire = Wire(service.url)
        self.addCleanup(self.wire.stop)
        outcome = self.asking(expires=900)
        with Intray(service.url) as plain:
            id = self.asked(plain)
        service.kill()
        calls = len(self.wire.calls)
        self.eventually(lambda: len(self.wire.calls) > calls)
        service.start()
        self.wire.lead_to(service.url)
        with Intray(service.url, retry_for=20) as plain:
            self.decide("yes", plain)
            answer = outcome()
            self.assertEqual((answer.job, answer.result), (id, "yes"))
            self.assertEqual(plain.queue(self.queue).totals["enqueued"], 1)
            self.assertEqual(self.ask(expires=900), answer, "the same key after the restart")


class AskingByThreads(Asking):
    def ask(self, payload: Any = PAYLOAD, key: Any = "run-17-refund-3", **how: Any) -> Answer:
        with Intray(self.wire.url) as intray:
            return intray.ask(self.queue, payload, key=key, **how)


class AskingOnALoop(Asking):
    def ask(self, payload: Any = PAYLOAD, key: Any = "run-17-refund-3", **how: Any) -> Answer:
        async def ask() -> Answer:
            async with AsyncIntray(self.wire.url) as intray:
                return await intray.ask(self.queue, payload, key=key, **how)

        return asyncio.run(ask())


del Asking  # It has no client of its own.
