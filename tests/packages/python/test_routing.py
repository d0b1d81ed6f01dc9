"""A worker's own list, and tokens for a worker and for one job."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile

from intray_client import Intray, NewJob, Refused
from intray_client.aio import AsyncIntray
from world import Story

KEY = "key-of-the-back-office"


class Lists(Story):
    def test_worker_lists_and_reserves_what_is_theirs(self) -> None:
        self.intray.enqueue(self.queue, NewJob(1, assignees=["bob"]))
        own = self.intray.enqueue(self.queue, NewJob(2, assignees=["ann"], skill="C1, German"))
        listed = list(self.intray.mine(self.queue, worker="ann", skills=["fr", "C1, German"]))
        self.assertEqual([(job.id, job.payload) for job in listed], [(own.id, 2)])
        self.assertEqual(list(self.intray.mine(self.queue, worker="ann")), [])
        with self.assertRaises(Refused):
            self.intray.reserve(id=own.id, worker="bob")
        (held,) = self.intray.reserve(id=own.id, worker="ann", skills=["C1, German"])
        held.complete()

    def test_browsing_worker_lists_more_than_a_page(self) -> None:
        self.set(browse=True)
        self.intray.enqueue_many(self.queue, (NewJob(n, dedupe=False) for n in range(150)))

        async def mine() -> list[object]:
            async with AsyncIntray(self.wire.url) as intray:
                return [job.payload async for job in intray.mine(self.queue, worker="ann")]

        self.assertEqual(asyncio.run(mine()), list(range(150)))


class Colleagues(Story):
    def test_names_that_have_not_worked_lately_are_reported(self) -> None:
        self.intray.enqueue(self.queue, NewJob(1, skill="de"))
        (held,) = self.intray.reserve([self.queue], worker="ann", skills=["de"])
        held.complete()
        recent = self.intray.recent_workers(self.queue)
        self.assertEqual((recent.names, recent.skills, recent.more), (("ann",), ("de",), False))
        jobs = [self.intray.enqueue(self.queue, NewJob(n, assignees=["bob"], dedupe=False)) for n in range(2, 123)]
        moved = self.intray.reassign(self.queue, "bob", ["ann", "carol"])
        self.assertEqual((moved.changed, moved.unseen), (121, ("carol",)))
        self.assertEqual(self.intray.reassign(self.queue, "bob", None).unseen, ())
        with self.assertLogs("intray_client", "WARNING") as logged:
            self.intray.change(jobs[0].id, {"skill": "germn", "excluded": ["eve"]})
        self.assertIn("no one called eve, germn has worked in its queue lately", logged.output[0])
        with self.assertNoLogs("intray_client", "WARNING"):
            self.intray.change(jobs[0].id, {"skill": "de", "excluded": None})

    def test_work_of_a_worker_is_found(self) -> None:
        self.set(max_attempts=1, sheets=True)
        done, died, held = (self.intray.enqueue(self.queue, NewJob(n)) for n in range(3))
        (one,) = self.intray.reserve([self.queue], worker="J. D\u00f6e")
        one.complete({"fine": True})
        (one,) = self.intray.reserve([self.queue], worker="J. D\u00f6e")
        one.fail("broken")
        self.intray.reserve([self.queue], worker="J. D\u00f6e")
        jobs = list(self.intray.jobs(self.queue, "completed", worker="J. D\u00f6e"))
        self.assertEqual([(job.id, job.result) for job in jobs], [(done.id, {"fine": True})])
        self.assertEqual([job.id for job in self.intray.dead(self.queue, worker="J. D\u00f6e")], [died.id])
        self.assertEqual(list(self.intray.dead(self.queue, worker="ann")), [])
        self.intray.sheets(self.queue)
        found = self.intray.worker_summary("J. D\u00f6e")
        self.assertIn(held.id, [one["id"] for one in found.holds])
        self.assertEqual([event["type"] for event in found.ended if event["queue"] == self.queue], ["failed", "completed"])
        self.assertEqual([line.handed_out for line in found.sheets[self.queue]], [3])


class Tokens(Story):
    @classmethod
    def setUpClass(cls) -> None:
        handle, keys = tempfile.mkstemp(prefix="intray-packages-")
        cls.addClassCleanup(os.remove, keys)
        with os.fdopen(handle, "w") as file:
            file.write(f"office operator * {hashlib.sha256(KEY.encode()).hexdigest()}\n")
        cls.flags = ("--keys-file", keys, "--token-secret", "a secret that only these stories know")
        super().setUpClass()

    def test_token_is_for_a_worker_or_for_one_job(self) -> None:
        office = self.client(key=KEY)
        first = office.enqueue(self.queue, 1)
        asked = office.enqueue(self.queue, NewJob(2, skill="de"))
        with self.assertRaises(Refused) as refused:
            office.token("ann", job=asked.id)
        self.assertEqual(refused.exception.problem["rule"], "skill")
        link = self.client(key=office.token("ann", job=asked.id, skills=["de"], ttl=60))
        for beyond in (lambda: link.reserve([self.queue]), lambda: link.reserve(id=first.id), lambda: list(link.mine(self.queue))):
            self.assertRaises(Refused, beyond)
        (held,) = link.reserve(id=asked.id)
        held.complete("yes")
        self.assertEqual(office.wait(asked.id, 20).result, "yes")
        page: Intray = self.client(key=office.token("bob", [self.queue]))
        self.assertEqual(list(page.mine(self.queue)), [])
        (other,) = page.reserve([self.queue])
        self.assertEqual(other.id, first.id)
