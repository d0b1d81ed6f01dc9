"""A program that works: it keeps what it has while it works on it, and hands in what it was."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from intray_client import Intray, Lost, Refused, Reserved
from world import CUT, LOSE, Story, problem


class Working(Story):
    def consume(self, work: Any, **how: Any) -> threading.Event:
        stop = threading.Event()
        thread = threading.Thread(target=self.intray.consume, args=([self.queue], work), kwargs={"stop": stop, **how})
        thread.start()

        def end() -> None:
            stop.set()
            # A wait for work that is under way is answered by this job.
            self.plain.enqueue(self.queue, "the end")
            thread.join()

        self.addCleanup(end)
        return stop

    def test_coroutine_function_is_refused_at_the_first_call(self) -> None:
        async def work(job: Reserved) -> None:
            pass

        class Work:
            async def __call__(self, job: Reserved) -> None:
                pass

        for function in (work, partial(work), Work()):
            with self.assertRaisesRegex(TypeError, "is a coroutine function: give it to AsyncIntray"):
                self.intray.consume([self.queue], function)

        async def key() -> str:
            return "key"

        wrong: Any = key
        with self.assertRaisesRegex(TypeError, "key is a coroutine function"):
            Intray(self.wire.url, key=wrong).enqueue(self.queue, 1)
        # What only turns out to be one fails the job in plain words.
        self.set(max_attempts=1)
        job = self.plain.enqueue(self.queue, 1)
        self.consume(lambda job: work(job))
        dead = self.plain.wait(job.id, timeout=20)
        self.assertEqual(dead.errors[0]["error"][:49], "TypeError: the function answered a coroutine, whi")

    def test_return_completes_and_exception_fails_the_job(self) -> None:
        def work(job: Reserved) -> Any:
            if job.payload == "bad":
                raise LookupError("no such photo\nat all")
            return {"was": job.payload}

        self.set(max_attempts=1)
        good, bad = (self.plain.enqueue(self.queue, payload) for payload in ("good", "bad"))
        self.consume(work)
        done = self.plain.wait(good.id, timeout=20)
        self.assertEqual((done.state, done.result), ("completed", {"was": "good"}))
        dead = self.plain.wait(bad.id, timeout=20)
        self.assertEqual((dead.state, dead.errors[0]["error"]), ("dead", "LookupError: no such photo\nat all"))

    def test_outages_are_waited_out_and_answers_repeated(self) -> None:
        job = self.plain.enqueue(self.queue, 1)
        self.set(worker_limit=0)
        reserves, completes = iter([CUT, LOSE]), iter([LOSE, problem(503, "unavailable", applied="unknown")])
        fates = {"/jobs/reserve": reserves, "/jobs/complete": completes}
        self.wire.rule = lambda call: next(fates.get(call.path, iter(())), None)
        self.consume(lambda job: "done")
        done = self.plain.wait(job.id, timeout=20)
        self.assertEqual((done.result, done.counts["handed_out"]), ("done", 1))
        self.eventually(lambda: len(self.wire.of("/jobs/complete")) == 3)

    def test_lease_is_extended_during_work(self) -> None:
        job = self.plain.enqueue(self.queue, 1)
        beaten = threading.Event()
        self.consume(lambda job: beaten.wait(20), lease_ms=1_000)
        self.eventually(lambda: len([call for call in self.wire.of("/jobs/extend") if call.status == 200]) >= 4)
        beaten.set()
        done = self.plain.wait(job.id, timeout=20)
        self.assertEqual((done.result, done.counts["expired"]), (True, 0))

    def test_lost_job_is_flagged_and_its_result_refused(self) -> None:
        job = self.plain.enqueue(self.queue, 1)
        seen = threading.Event()

        def work(job: Reserved) -> None:
            self.plain.cancel(job.id, force=True)
            self.eventually(lambda: job.is_lost)
            seen.set()

        with self.assertLogs("intray_client", "WARNING") as logs:
            self.consume(work, lease_ms=1_000)
            self.assertTrue(seen.wait(20))
            other = self.plain.enqueue(self.queue, 2)
            self.eventually(lambda: any("was lost" in line for line in logs.output))
        self.plain.cancel(other.id, force=True)
        self.assertEqual(self.plain.job(job.id).state, "cancelled")

    def test_interrupted_worker_gives_the_job_back(self) -> None:
        job = self.plain.enqueue(self.queue, 1)

        def work(job: Reserved) -> None:
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.intray.consume([self.queue], work)
        stored = self.plain.job(job.id)
        self.assertEqual((stored.state, stored.attempts, stored.counts["abandoned"]), ("waiting", 0, 1))

    def test_refused_result_fails_the_job(self) -> None:
        self.set(max_attempts=1)
        jobs = [self.plain.enqueue(self.queue, payload) for payload in ("no json", "too large", "nan")]
        results = {"no json": object(), "too large": "x" * (1 << 20), "nan": float("nan")}
        self.consume(lambda job: results.get(job.payload))
        for job in jobs:
            dead = self.plain.wait(job.id, timeout=20)
            self.assertEqual(dead.state, "dead")
            self.assertIn("the result was not taken", dead.errors[0]["error"])

    def test_places_of_a_refused_result_end_with_a_whole_line(self) -> None:
        names = [f"customer_field_with_a_long_name_{n:02}" for n in range(20)]
        form = {"type": "object", "properties": {name: {"type": "boolean"} for name in names}, "required": names}
        self.set(max_attempts=1, result_schema=form)
        job = self.plain.enqueue(self.queue, 1)
        self.consume(lambda _: {})
        _, *lines, last = self.plain.wait(job.id, timeout=20).errors[0]["error"].split("\n")
        self.assertEqual(lines, [f"/{name}: must be there" for name in names[: len(lines)]])
        self.assertEqual(last, f"and {20 - len(lines)} more")

    def test_result_that_does_not_fit_the_form_fails_the_job(self) -> None:
        """By what `work` answers, and by what it hands in itself."""
        form = {"type": "object", "properties": {"verdict": {"enum": ["fine", "bad"]}, "note": {"type": "string"}}, "required": ["verdict"]}
        self.set(max_attempts=1, result_schema=form)
        jobs = [self.plain.enqueue(self.queue, payload) for payload in ("answers", "hands in", "no object")]
        wrong: Any = {"note": 90210}

        def work(job: Reserved) -> Any:
            if job.payload == "hands in":
                job.complete(wrong)
            return wrong if job.payload == "answers" else 90210

        with self.assertLogs("intray_client", "WARNING") as logs:
            self.consume(work)
            places = "/verdict: must be there\n/note: must be a text"
            for job, text in zip(jobs, (places, places, "(the result): must be an object"), strict=True):
                dead = self.plain.wait(job.id, timeout=20)
                self.assertEqual(dead.state, "dead")
                self.assertIn(text, dead.errors[0]["error"])
                self.assertNotIn("90210", dead.errors[0]["error"])
        self.assertEqual(len(self.wire.of("/jobs/complete")), 3, "what was refused is not sent again")
        self.assertNotIn("verdict", "".join(logs.output))

    def test_a_job_may_be_settled_by_hand(self) -> None:
        self.plain.enqueue_many(self.queue, ["skip", "fail", "extend"])
        one, two, three = self.plain.reserve([self.queue], limit=3)
        self.assertEqual(one.abandon(reason="ä" * 300, delay_ms=60_000).state, "delayed")
        self.assertEqual(two.fail("x" * 2_000).state, "waiting")
        self.assertTrue(0 < three.extend(draft={"so": "far"}, lease_ms=5_000) <= 5_000)
        self.assertTrue(0 < three.expires_in_ms <= 5_000)
        self.assertFalse(three.complete(3).duplicate)
        self.assertTrue(three.complete(3).duplicate)
        with self.assertRaises(Lost) as caught:
            three.abandon()
        self.assertEqual((caught.exception.reason, caught.exception.job_state), ("completed", "completed"))

    def test_final_refusal_ends_consume(self) -> None:
        with self.assertRaises(Refused):
            self.intray.consume([f"no queue has a name like {self.queue}"], lambda job: None)
