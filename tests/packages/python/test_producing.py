"""A producer whom nothing that breaks on the way makes lose or double a job."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from unittest import mock

from intray_client import NewJob, Refused, SomeRefused, Unavailable
from world import CUT, LOSE, Fate, Story, problem


class Producing(Story):
    def test_lost_answer_is_repeated(self) -> None:
        self.set(dedupe=False)
        self.wire.once("/jobs", LOSE)
        job = self.intray.enqueue(self.queue, {"photo": 17})
        self.assertEqual(self.counts()["waiting"], 1)
        first, second = self.wire.of("/jobs")
        self.assertEqual(first.headers["idempotency-key"], second.headers["idempotency-key"])
        self.assertEqual(first.answer["id"], job.id)
        self.assertEqual(self.intray.job(job.id).payload, {"photo": 17})

    def test_two_calls_are_two_jobs_unless_they_have_one_key(self) -> None:
        self.set(dedupe=False)
        jobs = [self.intray.enqueue(self.queue, 1) for _ in range(2)]
        self.assertEqual(len({job.id for job in jobs}), 2)
        same = [self.intray.enqueue(self.queue, 1, idempotency_key="mine") for _ in range(2)]
        self.assertEqual(len({job.id for job in same}), 1)

    def test_transient_failures_are_retried(self) -> None:
        passing = [
            CUT,
            Fate(502, "a proxy"),
            Fate(404, "a portal"),
            problem(503, "unavailable", applied="unknown"),
            problem(503, "unavailable", applied=False, retry_after_ms=10),
            problem(429, "rate-limited", retry_after_ms=10),
            problem(507, "storage-full", retry_after_ms=10),
        ]
        self.wire.once("/jobs", *passing)
        self.intray.enqueue(self.queue, 1)
        self.assertEqual(len(self.wire.of("/jobs")), len(passing) + 1)
        self.assertEqual(self.counts()["waiting"], 1)

    def test_retry_waits_at_least_retry_after(self) -> None:
        for fate in (problem(503, "unavailable", applied=False, retry_after_ms=700), Fate(503, {}, {"retry-after": "1"})):
            self.wire.once("/jobs", fate)
            with self.assertLogs("intray_client", "INFO") as logs:
                self.intray.enqueue(self.queue, 1)
            [line] = logs.output
            pause = float(line.rsplit("again in ", 1)[1].removesuffix(" s"))
            self.assertTrue(0.7 <= pause <= 1.5, line)

    def test_unavailable_reports_applied(self) -> None:
        for fate, applied in (
            (problem(503, "unavailable", applied=False), False),
            (problem(503, "unavailable", applied="unknown"), "unknown"),
            (problem(429, "queue-full", retry_after_ms=10), False),
            (CUT, "unknown"),
        ):
            self.wire.rule = lambda call, fate=fate: fate  # type: ignore[misc]
            with self.assertRaises(Unavailable) as caught:
                self.client(retry_for=0.5).enqueue(self.queue, 1)
            self.assertEqual(caught.exception.applied, applied, fate)
        self.wire.stop()
        with self.assertRaises(Unavailable) as caught:
            self.client(retry_for=0.5).enqueue(self.queue, 1)
        self.assertIs(caught.exception.applied, False, "nobody was there")

    def test_later_refusal_keeps_applied_unknown(self) -> None:
        fates = [CUT, *(problem(503, "unavailable", applied=False) for _ in range(50))]
        self.wire.once("/jobs", *fates)
        with self.assertRaises(Unavailable) as caught:
            self.client(retry_for=1.0).enqueue(self.queue, 1)
        self.assertEqual(caught.exception.applied, "unknown")

    def test_key_invalid_in_a_header_is_reported(self) -> None:
        for key in ("Münze", "a\nb"):
            with self.assertRaises(ValueError):
                self.intray.enqueue(self.queue, 1, idempotency_key=key)

    def test_forked_child_has_its_own_connections(self) -> None:
        self.set(dedupe=False)
        self.plain.enqueue(self.queue, "before")

        def enqueue(name: str) -> None:
            for number in range(100):
                stored = self.plain.enqueue(self.queue, [name, number])
                assert self.plain.job(stored.id).payload == [name, number]

        child = multiprocessing.get_context("fork").Process(target=enqueue, args=("child",))
        child.start()
        enqueue("parent")
        child.join()
        self.assertEqual(child.exitcode, 0)
        self.assertEqual(self.counts()["waiting"], 201)

    def test_exceptions_can_be_pickled(self) -> None:
        with self.assertRaises(SomeRefused) as caught:
            self.intray.enqueue_many(self.queue, [NewJob(1, priority=100), 2])
        some = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(some), some.results[1]), (str(caught.exception), caught.exception.results[1]))
        self.assertEqual(some.results[0].type, "/problems/invalid-request")
        unavailable = pickle.loads(pickle.dumps(Unavailable("nobody is there", "unknown")))
        self.assertEqual((str(unavailable), unavailable.applied), ("nobody is there; it may have had an effect", "unknown"))

    def test_a_refusal_is_final(self) -> None:
        with self.assertRaises(Refused) as caught:
            self.intray.enqueue(self.queue, NewJob(1, priority=100))
        self.assertEqual((caught.exception.status, caught.exception.type), (422, "/problems/invalid-request"))
        self.assertEqual(len(self.wire.of("/jobs")), 1)

    def test_many_jobs_are_stored_in_order_with_refusals(self) -> None:
        jobs = [NewJob(number, priority=100 if number == 1_500 else 10) for number in range(2_500)]
        self.wire.once("/jobs", LOSE, LOSE)
        with self.assertRaises(SomeRefused) as caught:
            self.intray.enqueue_many(self.queue, jobs)
        refused = [n for n, result in enumerate(caught.exception.results) if isinstance(result, Refused)]
        self.assertEqual((refused, len(caught.exception.results)), ([1_500], 2_500))
        self.assertEqual(self.counts()["waiting"], 2_499)
        self.work_off(2_499)
        done = [job.payload for job in self.intray.feed(self.queue, follow=False)]
        self.assertEqual(done, [number for number in range(2_500) if number != 1_500])

    def test_many_jobs_wait_for_room_in_a_full_queue(self) -> None:
        self.set(max_jobs=10)
        with self.assertRaises(Unavailable):
            self.client(retry_for=0.1).enqueue_many(self.queue, range(15), idempotency_key="mine")
        self.assertEqual(self.counts()["waiting"], 10)
        self.set(max_jobs=0)
        stored = self.intray.enqueue_many(self.queue, range(15), idempotency_key="mine")
        self.assertEqual(len({job.id for job in stored}), 15)
        self.assertEqual(self.counts()["waiting"], 15)

    def test_waiting_for_a_job_ends_with_it(self) -> None:
        job = self.intray.enqueue(self.queue, {"photo": 17})
        with self.assertRaises(TimeoutError):
            self.intray.wait(job.id, timeout=0.05)
        threading.Thread(target=self.work_off, args=(1, lambda payload: {"verdict": "fine"})).start()
        self.assertEqual(self.intray.wait(job.id, timeout=20).result, {"verdict": "fine"})
        other = self.intray.enqueue(self.queue, 2)
        self.intray.cancel(other.id)
        self.assertEqual(self.intray.wait(other.id).state, "cancelled")

    def test_large_jobs_are_split_into_calls(self) -> None:
        stored = self.intray.enqueue_many(self.queue, ({"n": n, "text": "ä" * 100_000} for n in range(50)))
        self.assertEqual(len({job.id for job in stored}), 50)
        self.assertGreater(len(self.wire.of("/jobs")), 1)


class Texts(Story):
    def test_lone_surrogates_are_sent_in_any_text(self) -> None:
        half = "holiday \ud83d"
        stored = self.intray.enqueue(self.queue, {"title": half, "\udfff": ["\ud83d\ude00", "ä"]})
        [job] = self.intray.reserve([self.queue])
        self.assertEqual(job.payload, {"title": half, "\udfff": ["\U0001f600", "ä"]})
        job.extend(draft={"so": half})
        self.assertEqual(job.abandon(reason="x" * 255 + half).state, "waiting")
        [job] = self.intray.reserve([self.queue])
        self.assertEqual(job.fail(half * 200).state, "waiting")
        self.assertIn("holiday", self.intray.job(stored.id).errors[0]["error"])
        [job] = self.intray.reserve([self.queue])
        job.complete([half])
        self.assertEqual(self.intray.job(stored.id).result, [half])
        self.assertEqual(len(self.intray.enqueue_many(self.queue, [half, 2])), 2)
        self.assertEqual(self.intray.create_batch(self.queue, [half]).counts["total"], 1)

    def test_lone_surrogates_in_names_are_refused(self) -> None:
        half = "ann\ud83d"
        for ask in (
            lambda: self.intray.enqueue(self.queue, NewJob(1, client=half)),
            lambda: self.intray.enqueue(half, 1),
            lambda: self.intray.reserve([self.queue], worker=half),
            lambda: self.intray.consume([self.queue], lambda job: None, worker=half),
            lambda: self.intray.job(half),
            lambda: self.intray.batch(half),
        ):
            with self.assertRaises(Refused):
                ask()
        for quiet in (self.intray.feed(self.queue, client=half, follow=False), self.intray.jobs(self.queue, "dead", search=half)):
            try:
                self.assertEqual(list(quiet), [])
            except Refused:
                pass
        with self.assertRaises(ValueError):
            self.intray.enqueue(self.queue, 1, idempotency_key=half)

    def test_other_texts_are_sent_unescaped(self) -> None:
        io = self.intray._caller.io
        with mock.patch.object(io, "send", wraps=io.send) as send:
            self.intray.enqueue(self.queue, "ä \U0001f600")
        self.assertIn("ä \U0001f600".encode(), send.call_args.args[0].body)


class Batching(Story):
    def test_large_batch_is_appended_and_sealed(self) -> None:
        payloads = range(10_450)
        lost = iter([LOSE, None, LOSE, LOSE])
        self.wire.rule = lambda call: next(lost, None)
        batch = self.intray.create_batch(self.queue, payloads, concurrency=50)
        self.assertEqual((batch.state, batch.counts["total"], batch.concurrency), ("sealed", 10_450, 50))
        with self.assertRaises(TimeoutError):
            self.intray.wait_batch(batch.id, timeout=0.01)
        results = list(self.intray.results(batch.id))
        self.assertEqual([result.index for result in results], list(payloads))
        self.assertEqual({result.state for result in results} - {"waiting", "blocked"}, set())
        self.assertEqual(self.intray.cancel_batch(batch.id).state, "cancelled")

    def test_batch_results_are_in_order(self) -> None:
        jobs = [NewJob("a", priority=90), "b", "c"]
        batch, again = (self.intray.create_batch(self.queue, jobs, idempotency_key="mine") for _ in range(2))
        self.assertEqual((again.id, again.known, batch.known), (batch.id, True, False))
        threading.Thread(target=self.work_off, args=(3, str.upper)).start()
        self.assertEqual(self.intray.wait_batch(batch.id, timeout=20).state, "completed")
        self.assertEqual([result.result for result in self.intray.results(batch.id)], ["A", "B", "C"])
        self.assertEqual(self.intray.batch(batch.id).counts["completed"], 3)

    def test_empty_batch_ends_at_once(self) -> None:
        self.assertTrue(self.intray.create_batch(self.queue, []).is_over)
