"""An operator's calls."""

from __future__ import annotations

from intray_client import Refused, SomeRefused
from world import Story


class Operating(Story):
    def die(self, count: int, error: str = "no such photo") -> None:
        self.set(max_attempts=1, dedupe=False)
        self.plain.enqueue_many(self.queue, [{"photo": n} for n in range(count)])
        left = count
        while left:
            for job in self.plain.reserve([self.queue], limit=100, wait=5):
                job.fail(error)
                left -= 1

    def test_dead_jobs_are_listed_and_requeued(self) -> None:
        self.die(105)
        self.die(2, "timeout")
        dead = list(self.intray.dead(self.queue))
        self.assertEqual((len(dead), {job.state for job in dead}), (107, {"dead"}))
        self.assertEqual(dead[0].errors[0]["error"], "no such photo")
        self.assertEqual(len(list(self.intray.dead(self.queue, error="timeout"))), 2)
        self.assertEqual(len(list(self.intray.dead(self.queue, search='"photo":104'))), 1)
        self.assertEqual(self.intray.requeue(dead[0].id), 1)
        self.assertEqual(self.intray.requeue(dead[0].id), 0)
        self.assertEqual(self.intray.requeue_all(self.queue, error="timeout"), 2)
        self.assertEqual(self.intray.requeue_all(self.queue), 104)
        self.assertEqual(self.counts()["waiting"], 107)

    def test_settings_are_read_and_changed(self) -> None:
        self.assertEqual(self.intray.configure(self.queue, {"max_attempts": 5})["max_attempts"], 5)
        self.assertEqual(self.intray.configure(self.queue, {"max_attempts": None, "lease_ms": 9_000})["lease_ms"], 9_000)
        settings = self.intray.settings(self.queue)
        self.assertEqual((settings["max_attempts"], settings["paused"]), (0, False))
        with self.assertRaises(Refused):
            self.intray.configure(self.queue, {"lease_ms": 1})

    def test_queue_that_a_change_makes_is_logged(self) -> None:
        with self.assertLogs("intray_client", "WARNING") as logs:
            self.intray.pause(self.queue)
        self.assertIn(f"the queue {self.queue} was not there", logs.output[0])
        with self.assertNoLogs("intray_client", "WARNING"):
            self.intray.resume(self.queue)

    def test_change_makes_no_queue_if_it_may_not(self) -> None:
        with self.assertRaises(Refused) as refused:
            self.intray.configure(self.queue, {"paused": True}, create=False)
        self.assertEqual(refused.exception.type, "/problems/unknown-queue")
        self.intray.configure(self.queue, {"paused": True})
        self.assertFalse(self.intray.configure(self.queue, {"paused": None}, create=False)["paused"])

    def test_what_is_put_in_makes_no_queue_if_it_may_not(self) -> None:
        with self.assertRaises(Refused) as refused:
            self.intray.enqueue(self.queue, 1, create=False)
        self.assertEqual(refused.exception.type, "/problems/unknown-queue")
        with self.assertRaises(Refused):
            self.intray.create_batch(self.queue, [1], create=False)
        with self.assertRaises(SomeRefused):
            self.intray.enqueue_many(self.queue, [1, 2], create=False)
        self.intray.enqueue(self.queue, 1)
        self.intray.enqueue_many(self.queue, [2, 3], create=False)
        self.assertFalse(self.intray.create_batch(self.queue, [4], create=False).known)

    def test_queue_without_jobs_is_forgotten(self) -> None:
        self.die(1)
        with self.assertRaises(Refused) as refused:
            self.intray.forget_queue(self.queue)
        self.assertEqual(refused.exception.type, "/problems/wrong-state")
        self.intray.purge(self.queue, "all")
        self.intray.forget_queue(self.queue)
        with self.assertRaises(Refused) as refused:
            self.intray.queue(self.queue)
        self.assertEqual(refused.exception.type, "/problems/unknown-queue")

    def test_paused_queues_hand_out_nothing(self) -> None:
        self.intray.enqueue(self.queue, 1)
        self.assertTrue(self.intray.pause(self.queue)["paused"])
        self.assertEqual(self.intray.reserve([self.queue]), [])
        self.assertFalse(self.intray.resume(self.queue)["paused"])
        [job] = self.intray.reserve([self.queue])
        self.assertEqual(self.intray.release(job.id), 1)
        self.assertEqual(self.intray.release(job.id), 0)

    def test_jobs_of_a_state_are_purged(self) -> None:
        self.die(3)
        self.intray.enqueue(self.queue, 1)
        self.intray.reserve([self.queue])
        self.intray.enqueue(self.queue, 2)
        self.assertEqual(self.intray.purge(self.queue, "dead"), 3)
        self.assertEqual([job.payload for job in self.intray.jobs(self.queue, "waiting")], [2])
        self.assertEqual(self.intray.purge(self.queue, "all"), 1)
        self.assertEqual(self.intray.purge(self.queue, "reserved", force=True), 1)

    def test_priorities_and_reservations_change_in_bulk(self) -> None:
        self.set(worker_limit=0)
        self.intray.enqueue_many(self.queue, range(250))
        self.assertEqual(self.intray.reprioritize_all(self.queue, 7), 250)
        held = self.intray.reserve([self.queue], worker="ann", limit=3)
        self.assertEqual(len(held), 3)
        self.assertEqual(self.intray.reprioritize_all(self.queue, 9, state="reserved"), 3)
        self.assertEqual(self.intray.release_all(self.queue, "ann"), 3)
        self.assertEqual(self.intray.release_all(self.queue, "ann"), 0)
        self.assertEqual({job.priority for job in self.intray.jobs(self.queue, "waiting")}, {7, 9})

    def test_actions_of_operators_are_listed(self) -> None:
        self.assertEqual(self.intray.configure(self.queue, {"lease_ms": 9_000})["lease_ms"], 9_000)
        jobs = self.intray.enqueue_many(self.queue, [1, 2])
        for n in range(110):
            self.intray.change(jobs[n % 2].id, {"priority": n % 90})
        self.assertEqual(self.intray.purge(self.queue, "waiting"), 2)
        newest, *changes, oldest = self.intray.actions(self.queue)
        self.assertEqual((newest.action, newest.count, newest.parameters), ("purge", 2, {"state": "waiting"}))
        self.assertEqual((newest.by, newest.job, newest.settings), (None, None, []))
        self.assertGreater(len(changes), 100)
        self.assertEqual((changes[0].action, changes[0].job), ("reprioritize", jobs[1].id))
        self.assertEqual(oldest.settings, [{"name": "lease_ms", "from": None, "to": 9_000}])

    def test_day_sheets_are_read_and_removed(self) -> None:
        self.intray.enqueue_many(self.queue, range(3))
        self.assertIsNone(self.intray.sheets(self.queue).since)
        self.set(sheets=True, time_zone="Europe/Berlin")
        for worker in ("Ann Miller", "bob", None):
            [job] = self.plain.reserve([self.queue], worker=worker)
            job.complete()
        sheets = self.intray.sheets(self.queue)
        self.assertEqual([(line.worker, line.completed) for line in sheets.lines], [(None, 1), ("Ann Miller", 1), ("bob", 1)])
        self.assertEqual((sheets.time_zone, list(sheets.gaps)), ("Europe/Berlin", []))
        day = sheets.lines[0].day
        self.assertEqual(len(self.intray.sheets(self.queue, start=day, end=day, worker="bob").lines), 1)
        self.assertGreaterEqual(self.intray.forget_worker("Ann Miller"), 1)
        self.assertEqual([line.worker for line in self.intray.sheets(self.queue).lines], [None, "bob"])
        with self.assertRaises(Refused):
            self.intray.configure(self.queue, {"time_zone": "Europe/Bonn"})

    def test_queues_are_listed_with_counts(self) -> None:
        self.intray.enqueue_many(self.queue, [1, 2])
        [queue] = [queue for queue in self.intray.queues() if queue.name == self.queue]
        self.assertEqual((queue.counts["waiting"], queue.totals["enqueued"]), (2, 2))
        self.assertEqual(self.intray.queue(self.queue).settings["paused"], False)
        with self.assertRaises(Refused) as caught:
            self.intray.queue("no-such-queue")
        self.assertEqual(caught.exception.status, 404)
