"""What stands between a program and the service: filters, portals, proxies with wishes of their own."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

from intray_client import Intray, NewJob, Refused, Reserved, SomeRefused, Unavailable
from world import CUT, Call, Fate, Story, Wire, problem

BAD = "'; DROP TABLE users"
PAGE = b"<html>Your request was blocked: '; DROP TABLE users</html>"
#: What filters and proxies refuse with, redirect with, or say although they refuse.
REFUSALS = (302, 400, 403, 404, 406, 413, 418, 451, 200)


class Filtered(Story):
    def setUp(self) -> None:
        super().setUp()
        faster = mock.patch("intray_client._patience.FIRST", 0.02)
        faster.start()
        self.addCleanup(faster.stop)

    def filter(self, status: int, headers: dict[str, str] | None = None) -> None:
        def rule(call: Call) -> Fate | None:
            return Fate(status, PAGE, headers or {}) if BAD in json.dumps(call.body) else None

        self.wire.rule = rule

    def consume(self, work: Callable[[Reserved], Any]) -> None:
        stop = threading.Event()

        def until_last(job: Reserved) -> Any:
            if job.payload == "last":
                stop.set()
                return "done"
            return work(job)

        self.set(max_attempts=1)
        last = self.plain.enqueue(self.queue, "last")
        with self.assertLogs("intray_client", "WARNING") as logged:
            self.intray.consume([self.queue], until_last, stop=stop)
        self.assertNotIn(BAD, "\n".join(logged.output))
        self.assertEqual(self.plain.job(last.id).result, "done")

    def test_refused_results_fail_their_job_and_the_next_is_done(self) -> None:
        for status in (403, 413, 200, 503):
            self.intray = self.client(retry_for=2.0)
            job = self.plain.enqueue(self.queue, status)
            self.filter(status)
            self.consume(lambda job: {"note": BAD})
            dead = self.plain.job(job.id)
            self.assertEqual(dead.state, "dead")
            self.assertIn("the result was not taken", dead.errors[0]["error"])

    def test_refused_errors_fail_their_job_with_another_text(self) -> None:
        job = self.plain.enqueue(self.queue, 1)
        self.filter(403)

        def work(job: Reserved) -> None:
            raise LookupError(BAD)

        self.consume(work)
        dead = self.plain.job(job.id)
        self.assertEqual((dead.state, dead.errors[0]["error"]), ("dead", "LookupError"))

    def test_job_that_cannot_be_ended_leaves_the_worker_free(self) -> None:
        job = self.plain.enqueue(self.queue, 1)
        self.wire.rule = lambda call: (
            Fate(403) if job.id in json.dumps(call.body) and call.path in ("/jobs/complete", "/jobs/fail") else None
        )
        self.consume(lambda job: "done")
        self.assertEqual(self.plain.job(job.id).counts["abandoned"], 1)

    def test_refused_drafts_never_cost_the_job(self) -> None:
        for n, draft in enumerate((BAD, "x" * (1 << 20), object(), float("nan"))):
            job = self.plain.enqueue(self.queue, n)
            self.filter(403)

            def work(job: Reserved, draft: Any = draft) -> str:
                job.extend(draft={"so": "far"})
                self.assertGreater(job.extend(draft=draft, lease_ms=60_000), 50_000)
                return "done"

            self.consume(work)
            self.assertEqual(self.plain.job(job.id).result, "done")

    def test_refused_draft_by_hand_is_raised_and_the_lease_extended(self) -> None:
        self.plain.enqueue(self.queue, 1)
        self.filter(413)
        [job] = self.intray.reserve([self.queue])
        with self.assertRaises(Refused) as caught:
            job.extend(draft=BAD, lease_ms=3_600_000)
        self.assertEqual((caught.exception.status, caught.exception.is_own), (413, False))
        self.assertGreater(job.expires_in_ms, 3_000_000)
        self.assertEqual(job.complete().state, "completed")

    def test_refusals_on_the_way_are_final_within_seconds(self) -> None:
        for status in REFUSALS:
            self.filter(status, {"retry-after": "3600"})
            start = time.monotonic()
            with self.assertRaises((Refused, Unavailable)) as caught:
                self.client(retry_for=120).enqueue(self.queue, BAD)
            error = caught.exception
            self.assertLess(time.monotonic() - start, 5.0)
            self.assertNotIn("DROP", str(error) + repr(error))
            if isinstance(error, Refused):
                self.assertEqual((error.status, error.type, error.is_own), (status, "about:blank", False))
            elif isinstance(error, Unavailable):
                self.assertEqual((status, error.applied), (200, "unknown"))

    def test_refused_call_of_many_leaves_the_others_stored(self) -> None:
        self.filter(413)
        jobs = [NewJob(BAD if n == 1_500 else n) for n in range(2_500)]
        with self.assertRaises(SomeRefused) as caught:
            self.intray.enqueue_many(self.queue, jobs)
        refused = [n for n, result in enumerate(caught.exception.results) if isinstance(result, Refused)]
        self.assertEqual((refused, self.counts()["waiting"]), (list(range(1_000, 2_000)), 1_500))

    def test_completion_survives_a_refusing_deploy(self) -> None:
        for status in (404, 403, 200, 302):
            job = self.plain.enqueue(self.queue, status)
            left = [Fate(status, PAGE)] * 12

            def rule(call: Call, left: list[Fate] = left) -> Fate | None:
                is_hit = left and self.wire.of("/jobs/complete") and call.path != "/jobs/reserve"
                return left.pop() if is_hit else None

            self.wire.rule = rule
            self.consume(lambda job: "typed")
            self.assertEqual(self.plain.job(job.id).result, "typed")
            self.wire.calls.clear()

    def test_consume_survives_foreign_pages(self) -> None:
        self.plain.enqueue(self.queue, 1)
        bodies: list[Any] = [PAGE, [], {}, "ok", None, {"jobs": None}, b"[" * 100_000, b"\xff\xfe", {"status": "ok"}]
        fates = [Fate(200, body) for body in bodies] + [Fate(status, PAGE) for status in REFUSALS]
        self.wire.rule = lambda call: fates.pop() if fates and call.path == "/jobs/reserve" else None
        with mock.patch("intray_client._patience.LONGEST", 0.01):
            self.consume(lambda job: 1)
        self.assertEqual(fates, [])


class Wishing(Story):
    """A `Retry-After`, and every other number that becomes a time to wait."""

    def pauses(self, fate: Fate, retry_for: float = 20.0, path: str = "/jobs") -> list[float]:
        pauses: list[float] = []
        self.wire.once(path, fate)
        with mock.patch("intray_client._blocking.sleep", lambda seconds, stop: pauses.append(seconds)):
            start, clock = time.monotonic(), 0.0
            with mock.patch("intray_client._caller.time.monotonic", lambda: start + clock + sum(pauses)):
                self.client(retry_for=retry_for).enqueue(self.queue, 1)
        return pauses

    def test_proxy_retry_after_is_a_minute_at_most(self) -> None:
        for seconds in ("61", "3600", "86400"):
            fate = Fate(503, PAGE, {"retry-after": seconds})
            self.assertTrue(55 <= sum(self.pauses(fate, 3_600)) <= 60.1, seconds)
            self.assertLessEqual(sum(self.pauses(fate, 20)), 20)
        self.assertTrue(2 <= sum(self.pauses(Fate(429, PAGE, {"retry-after": "2"}), 20)) <= 3)
        own = problem(503, "unavailable", applied=False, retry_after_ms=120_000)
        self.assertTrue(120 <= sum(self.pauses(own, 3_600)) <= 181)

    def test_absurd_retry_after_is_ignored(self) -> None:
        texts = ("-1", "nan", "inf", "1e9", "", "soon", "9" * 400, "9" * 5_000, "Wed, 21 Oct 2037 07:28:00 GMT", "1, 2", "0x10")
        fates = [Fate(503, PAGE, {"retry-after": text}) for text in texts]
        values: tuple[Any, ...] = (-5, 10**400, 1e300, float("inf"), float("nan"), "soon", [1], {"a": 1}, True, None, 10**15)
        fates += [problem(503, "unavailable", applied=False, retry_after_ms=value) for value in values]
        bodies: list[Any] = [[], "x", None, {"retry_after_ms": 10**12}, {"status": "x", "type": [1]}]
        fates += [Fate(503, body) for body in bodies]
        for fate in fates:
            self.assertLessEqual(sum(self.pauses(fate)), 0.5, fate)

    def test_absurd_answers_end_no_worker(self) -> None:
        stop = threading.Event()
        values: list[Any] = [-1, 10**30, 1e308, float("nan"), "soon", [], None]
        nothing = [Fate(200, {"jobs": [], "reason": "shutdown", "retry_after_ms": value}) for value in values]
        nothing += [Fate(200, {"jobs": []}), Fate(503, {}, {"retry-after": "9" * 50})]
        self.wire.rule = lambda call: nothing.pop() if nothing and call.path == "/jobs/reserve" else None
        self.plain.enqueue(self.queue, 1)
        with mock.patch("intray_client._worker.AGAIN", 0.01):
            self.intray.consume([self.queue], lambda job: stop.set(), stop=stop)
        self.assertEqual(nothing, [])

    def test_absurd_leases_end_no_worker(self) -> None:
        leases: list[Any] = [-1, 10**30, 1e308, float("nan"), float("inf"), "soon", [], None]

        def rule(call: Call) -> Fate | None:
            if not leases or call.path != "/jobs/reserve":
                return None
            answer = self.wire.ask(call)
            for job in answer["jobs"]:
                job["expires_in_ms"] = leases.pop()
            return Fate(200, answer)

        self.set(dedupe=False)
        self.plain.enqueue_many(self.queue, range(len(leases)))
        self.wire.rule = rule
        stop = threading.Event()
        self.intray.consume([self.queue], lambda job: stop.set() if job.payload == 7 else None, stop=stop)
        self.assertEqual((leases, self.counts()["completed"]), ([], 8))

    def test_proxy_retry_after_ends_with_a_success(self) -> None:
        self.set(dedupe=False)
        is_away = threading.Event()
        is_away.set()
        self.wire.rule = lambda call: Fate(503, PAGE, {"retry-after": "3600"}) if is_away.is_set() else None
        intray = self.client(retry_for=600)
        threads = [threading.Thread(target=intray.enqueue, args=(self.queue, n)) for n in range(2)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        self.eventually(lambda: len(self.wire.calls) == 2)
        is_away.clear()
        intray.enqueue(self.queue, 3)
        for thread in threads:
            thread.join()
        self.assertLess(time.monotonic() - start, 10.0)

    def test_intray_retry_after_holds_despite_successes(self) -> None:
        self.wire.once("/jobs", problem(429, "rate-limited", retry_after_ms=1_000))
        thread = threading.Thread(target=self.intray.enqueue, args=(self.queue, 1))
        start = time.monotonic()
        thread.start()
        self.eventually(lambda: len(self.wire.calls) == 1)
        self.intray.enqueue(self.queue, 2)
        thread.join()
        self.assertGreater(time.monotonic() - start, 1.0)


class Patient(Story):
    def test_producers_fail_after_five_seconds_by_default(self) -> None:
        still = threading.Event()
        self.addCleanup(still.set)
        away = Wire(self.service.url)
        self.addCleanup(away.stop)
        away.rule = lambda call: Fate(503)
        self.wire.rule = lambda call: CUT if still.wait(60) else None
        calls: list[Callable[[], Any]] = []
        for wire in (away, self.wire):
            intray = Intray(wire.url)
            self.addCleanup(intray.close)
            calls += [
                lambda intray=intray: intray.enqueue(self.queue, 1),  # type: ignore[misc]
                lambda intray=intray: intray.enqueue_many(self.queue, [1]),  # type: ignore[misc]
                lambda intray=intray: intray.create_batch(self.queue, [1]),  # type: ignore[misc]
                lambda intray=intray: intray.job("a-00000000000000000000000000"),  # type: ignore[misc]
                lambda intray=intray: list(intray.feed(self.queue, follow=False)),  # type: ignore[misc]
            ]
        took = self.all_fail(calls)
        self.assertTrue(all(1.0 < seconds < 8.0 for seconds in took), took)

    def test_consumers_retry_for_120_seconds(self) -> None:
        for retry_for, producer, consumer in ((None, 5.0, 120.0), (2.0, 2.0, 2.0)):
            caller = Intray(self.wire.url, retry_for=retry_for)._caller
            self.assertEqual((caller.retry_for, caller.patience), (producer, consumer))
        self.plain.enqueue(self.queue, 1)
        intray = Intray(self.wire.url)
        self.addCleanup(intray.close)
        with mock.patch.object(intray._caller, "call", return_value={"jobs": []}) as call:
            intray.reserve([self.queue])
        self.assertEqual(call.call_args.kwargs["retry_for"], 120.0)

    def test_a_call_can_set_its_retry_time(self) -> None:
        self.wire.rule = lambda call: Fate(503)
        took = self.all_fail([
            lambda: self.intray.enqueue(self.queue, 1, retry_for=0.2),
            lambda: self.intray.enqueue_many(self.queue, [1], retry_for=0.2),
            lambda: self.intray.create_batch(self.queue, [1], retry_for=0.2),
            lambda: self.intray.wait("a-00000000000000000000000000", timeout=0.2),
            lambda: self.intray.wait_batch("a-00000000000000000000000000", timeout=0.2),
        ])
        self.assertLess(max(took), 2.0)

    def all_fail(self, calls: list[Callable[[], Any]]) -> list[float]:
        took: list[float] = []

        def call(ask: Callable[[], Any]) -> None:
            start = time.monotonic()
            try:
                ask()
            except Unavailable:
                took.append(time.monotonic() - start)

        threads = [threading.Thread(target=call, args=(ask,)) for ask in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(took), len(calls))
        return took
