"""What ends a program ends `consume`, and nothing else does."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from intray_client import Intray, Reserved
from world import CUT, Fate, Story, problem, usual_signals

# It sleeps in short pieces: Python misses a signal that comes between its last look and the sleep, and notices it after the sleep.
PROGRAM = """
import signal, sys, time
from intray_client import Intray
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
def work(job):
    print("works", job.payload, flush=True)
    if job.payload != "quick":
        for _ in range(600):
            time.sleep(0.1)
Intray(sys.argv[1], retry_for=60).consume([sys.argv[2]], work)
"""


class Ending(Story):
    def start(self) -> subprocess.Popen[str]:
        program = [sys.executable, "-c", PROGRAM, self.wire.url, self.queue]
        process = subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=usual_signals
        )

        def end() -> None:
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def ended(self, process: subprocess.Popen[str], by: signal.Signals) -> tuple[int, str]:
        start = time.monotonic()
        process.send_signal(by)
        out, _ = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - start, 10.0, by)
        return process.returncode, out

    def test_signals_always_end_consume(self) -> None:
        fates: dict[str, Callable[[], Fate | None]] = {
            "given back": lambda: None,
            "refused": lambda: problem(422, "invalid-request"),
            "lost": lambda: problem(409, "reservation-lost", reason="released", job_state="waiting"),
            "filtered": lambda: Fate(403, "a filter"),
            "away": lambda: problem(503, "unavailable", applied=False, retry_after_ms=60_000),
            "garbled": lambda: Fate(200, []),
            "cut": lambda: CUT,
        }
        expected = {signal.SIGTERM: 3, signal.SIGINT: -signal.SIGINT}
        self.set(dedupe=False)
        for n, (name, fate) in enumerate(fates.items()):
            by = list(expected)[n % 2]
            first, second = (self.plain.enqueue(self.queue, name) for _ in range(2))
            self.wire.rule = lambda call, fate=fate: fate() if call.path == "/jobs/abandon" else None  # type: ignore[misc]
            process = self.start()
            assert process.stdout
            self.assertEqual(process.stdout.readline(), f"works {name}\n")
            self.assertEqual(self.ended(process, by), (expected[by], ""), name)
            state = "waiting" if name == "given back" else "reserved"
            self.assertEqual(self.plain.job(first.id).state, state, name)
            for job in (first, second):
                self.plain.cancel(job.id, force=True)

    def test_signals_end_a_retried_completion(self) -> None:
        job = self.plain.enqueue(self.queue, "quick")
        tried = threading.Event()

        def rule(call: Any) -> Fate | None:
            if call.path == "/jobs/complete":
                tried.set()
                return problem(503, "unavailable", applied=False)
            return None

        self.wire.rule = rule
        process = self.start()
        self.assertTrue(tried.wait(20))
        self.assertEqual(self.ended(process, signal.SIGTERM)[0], 3)
        self.assertEqual(self.plain.job(job.id).state, "waiting", "it is given back")

    def test_frozen_service_does_not_block_exit(self) -> None:
        self.plain.enqueue(self.queue, "slow")
        still = threading.Event()
        self.addCleanup(still.set)

        def rule(call: Any) -> Fate | None:
            if call.path == "/jobs/abandon":
                still.wait(60)
            return None

        self.wire.rule = rule
        process = self.start()
        assert process.stdout
        process.stdout.readline()
        self.assertEqual(self.ended(process, signal.SIGTERM), (3, ""))

    def test_exit_exceptions_propagate(self) -> None:
        class Own(BaseException):
            pass

        self.wire.rule = lambda call: Fate(403) if call.path in ("/jobs/abandon", "/jobs/fail") else None
        kinds: list[type[BaseException]] = [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, Own]
        for kind in kinds:
            job = self.plain.enqueue(self.queue, kind.__name__)
            raised = kind()
            start = time.monotonic()
            with self.assertRaises(kind) as caught:
                self.intray.consume([self.queue], lambda job, raised=raised: throw(raised))  # type: ignore[misc]
            self.assertIs(caught.exception, raised)
            self.assertLess(time.monotonic() - start, 5.0)
            self.plain.cancel(job.id, force=True)

    def test_second_signal_does_not_replace_the_first(self) -> None:
        first, job = SystemExit(7), self.plain.enqueue(self.queue, 1)
        intray = self.client(key=lambda: throw(KeyboardInterrupt()) if self.wire.of("/jobs/reserve") else "key")
        intray._caller._known = None

        def work(job: Reserved) -> None:
            intray._caller._known = None
            raise first

        with self.assertRaises(SystemExit) as caught:
            intray.consume([self.queue], work)
        self.assertIs(caught.exception, first)
        self.assertEqual(self.plain.job(job.id).state, "reserved")


def throw(error: BaseException) -> Any:
    raise error


class Odd(Exception):
    """An exception whose text cannot be had."""

    def __init__(self, by: BaseException | None = None, text: Any = None) -> None:
        self._by, self._text = by, text

    def __str__(self) -> str:
        if self._by is not None:
            raise self._by
        return self._text  # type: ignore[no-any-return]

    __repr__ = __str__


class OddResult(dict[str, Any]):
    def items(self) -> Any:
        raise Odd(KeyError())


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def ring() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


class Enduring(Story):
    def consume(self, work: Callable[[Reserved], Any], intray: Intray | None = None, **how: Any) -> None:
        """Works until the job "last" is done."""
        stop = threading.Event()

        def until_last(job: Reserved) -> Any:
            if job.payload == "last":
                stop.set()
                return None
            return work(job)

        self.set(max_attempts=1)
        self.plain.enqueue(self.queue, "last")
        (intray or self.intray).consume([self.queue], until_last, stop=stop, **how)

    def errors(self) -> list[str]:
        return [str(job.errors[0]["error"]) for job in self.plain.dead(self.queue)]

    def test_unprintable_errors_fail_only_their_job(self) -> None:
        causes = [AttributeError(), RecursionError(), MemoryError(), ValueError("x"), Odd(KeyError()), StopIteration()]
        odd: list[Exception] = [Odd(cause) for cause in causes]
        odd += [Odd(text=text) for text in (None, 7, "half \ud83d", "nul \0", "\ud83d" * 3_000, "ä" * 3_000, "\x1b[31m")]
        odd += [type("Näme", (Exception,), {})("text"), type("N" * 3_000, (Odd,), {})(KeyError()), StopIteration(1)]
        odd += [TimeoutError("of the work itself"), OSError(5, "x"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x")]
        self.set(dedupe=False)
        self.plain.enqueue_many(self.queue, range(len(odd)))
        self.consume(lambda job: throw(odd[job.payload]))
        errors = self.errors()
        self.assertEqual(len(errors), len(odd))
        for text in errors[:5]:
            self.assertIn("Odd", text)
        self.assertEqual([text for text in errors if not text], [])

    def test_failing_describe_does_not_end_the_worker(self) -> None:
        ways: list[Callable[[Exception], Any]] = [
            lambda error: throw(ZeroDivisionError()),
            lambda error: None,
            lambda error: b"bytes",
            lambda error: {"code": 7},
            lambda error: "",
            lambda error: "\udfff" * 2_000,
            lambda error: Odd(KeyError()),
            lambda error: throw(RecursionError()),
        ]
        for n, way in enumerate(ways):
            self.plain.enqueue(self.queue, n)
            self.consume(lambda job: throw(LookupError("x")), describe=way)
        errors = self.errors()
        self.assertEqual((len(errors), [text for text in errors if not text]), (len(ways), []))
        self.assertIn("LookupError", errors[0])

    def test_unserializable_results_fail_only_their_job(self) -> None:
        odd = [object(), float("nan"), float("inf"), ring(), deep(200), deep(100_000), {1, 2}, {(1, 2): 3}, b"bytes", OddResult(a=1)]
        odd += ["x" * (1 << 20), 10**5_000, (part for part in "ab"), self.test_unserializable_results_fail_only_their_job]
        self.plain.enqueue_many(self.queue, range(len(odd)))
        self.consume(lambda job: odd[job.payload])
        errors = self.errors()
        self.assertEqual(len(errors), len(odd), errors)
        for text in errors:
            self.assertIn("the result was not taken", text)

    def test_lone_surrogates_in_results_are_sent(self) -> None:
        job = self.plain.enqueue(self.queue, {"title": "holiday \ud83d"})
        self.consume(lambda job: {"was": job.payload["title"], "\udfff": "both \ud83d\ude00"})
        done = self.plain.job(job.id)
        self.assertEqual(done.result, {"was": "holiday \ud83d", "\udfff": "both \U0001f600"})

    def test_raising_log_handlers_end_nothing(self) -> None:
        class Broken(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                raise RuntimeError("the disk is full")

        handler = Broken()
        logging.getLogger("intray_client").addHandler(handler)
        self.addCleanup(logging.getLogger("intray_client").removeHandler, handler)
        self.plain.enqueue_many(self.queue, [1, 2])
        self.consume(lambda job: throw(LookupError("x")) if job.payload == 1 else object())
        self.assertEqual(len(self.errors()), 2)

    def test_extreme_payloads_are_processed(self) -> None:
        for payload in (b"1" * 5_000, b"[" * 120 + b"]" * 120, b'"\\ud83d"', b"1e999"):
            body = b'{"queue": "%s", "payload": %s}' % (self.queue.encode(), payload)
            self.assertEqual(self.post("/jobs", body), 201)
        seen: list[Any] = []
        self.consume(lambda job: seen.append(job.payload), self.plain)
        self.assertEqual(len(seen), 4)

    def test_tracebacks_are_logged_and_optional_in_errors(self) -> None:
        def work(job: Reserved) -> None:
            raise LookupError(job.payload["text"])

        for traceback in (False, True):
            self.plain.enqueue(self.queue, {"text": "a secret", "n": traceback})
            with self.assertLogs("intray_client", logging.DEBUG) as logged:
                self.consume(work, traceback=traceback)
            log = "\n".join(logged.output)
            self.assertIn(f'{Path(__file__).name}", line', log)
            self.assertNotIn("a secret", log)
        plain, whole = self.errors()
        self.assertEqual(plain, "LookupError: a secret")
        self.assertTrue(whole.startswith(plain + "\n"), whole)
        self.assertTrue(whole.endswith('raise LookupError(job.payload["text"])'), whole)

    def test_long_tracebacks_keep_their_end_within_the_limit(self) -> None:
        def work(job: Reserved, n: int = 0) -> None:
            if n == 200:
                raise LookupError("ä" * 2_000)
            work(job, n + 1) if n % 2 else work(job, n=n + 1)

        self.plain.enqueue(self.queue, 1)
        self.consume(work, traceback=True)
        [errors] = self.errors()
        self.assertTrue(errors.startswith("LookupError: ää"), errors)
        self.assertIn("raise LookupError", errors)
        self.assertLessEqual(len(errors.encode()), 1_024)

    def test_short_lease_is_not_extended_in_a_loop(self) -> None:
        job = self.plain.enqueue(self.queue, 1)
        self.plain.reserve([self.queue], worker="ann", lease_ms=1_000)
        self.consume(lambda job: time.sleep(0.5) if job.id else None, worker="ann", lease_ms=60_000)
        self.assertEqual(self.plain.job(job.id).state, "completed")
        self.assertLess(len(self.wire.of("/jobs/extend")), 6)
