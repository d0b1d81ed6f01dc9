"""Several people answer one question, none of them twice, and what most of them say is counted."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from intray_client import NewJob, Refused, Result, agreement
from intray_client.aio import AsyncIntray
from examples import write
from world import LOSE, Story


def results(*values: Any, state: str = "completed") -> list[Result]:
    return [Result(str(n), n, state, value, None) for n, value in enumerate(values)]


class Opinions(Story):
    def answer(self, worker: str, verdict: Any) -> bool:
        held = self.intray.reserve([self.queue], worker=worker)
        for one in held:
            one.complete({"verdict": verdict})
        return bool(held)

    def test_three_people_answer_and_two_agree(self) -> None:
        batch = self.intray.opinions(self.queue, {"photo": 17}, lease_ms=60_000, excluded=["eve"])
        self.assertEqual(batch.counts["total"], 3)
        for worker, verdict in (("ann", "cat"), ("bob", "dog"), ("cleo", "cat")):
            self.assertTrue(self.answer(worker, verdict))
            self.assertFalse(self.answer(worker, verdict), "none is asked twice")
        self.assertTrue(self.intray.batch(batch.id).is_over)
        self.assertEqual(agreement(self.intray.results(batch.id), "/verdict"), ("cat", 2))

    def test_service_says_which_answers_are_equal(self) -> None:
        split, same = (self.intray.opinions(self.queue, n, people=2) for n in (1, 2))
        for worker, verdicts in (("ann", (1, "fine")), ("bob", (2, "fine"))):
            for verdict in verdicts:
                self.assertTrue(self.answer(worker, verdict))
        self.assertIsNone(self.intray.batch(split.id).opinions)
        seen = self.intray.batch(split.id, at="/verdict").opinions or {}
        self.assertEqual((seen["payload"], seen["agreement"]), (1, "divided"))
        self.assertEqual(seen["answers"], [{"value": 1, "votes": 1}, {"value": 2, "votes": 1}])
        self.assertEqual([(job["worker"], job["answer"]) for job in seen["jobs"]], [("ann", 0), ("bob", 1)])
        self.assertEqual((self.intray.batch(split.id, at="").opinions or {})["differs"], ["/verdict"])
        found = {word: [batch.id for batch in self.intray.batches(self.queue, agreement=word)] for word in ("divided", "unanimous")}
        self.assertEqual(found, {"divided": [split.id], "unanimous": [same.id]})
        self.assertEqual({batch.id for batch in self.intray.batches(self.queue)}, {split.id, same.id})

    def test_tie_is_broken_by_one_person_more(self) -> None:
        batch = self.intray.opinions(self.queue, 1, people=2)
        self.assertTrue(self.answer("ann", "cat") and self.answer("bob", "dog"))
        given = list(self.intray.results(batch.id))
        self.assertEqual(agreement(given, "/verdict"), ("cat", 1))
        people = [str(one.completed["worker"]) for one in given if one.completed]
        self.intray.enqueue(self.queue, NewJob(1, excluded=people))
        self.assertFalse(self.answer("ann", "cat") or self.answer("bob", "dog"))
        self.assertTrue(self.answer("cleo", "dog"))

    def test_lost_answer_and_a_key_make_one_batch(self) -> None:
        self.wire.once("/batches", LOSE)
        batch = self.intray.opinions(self.queue, 1, key="photo 17", people=4)
        self.assertEqual(self.intray.opinions(self.queue, 1, key="photo 17", people=4).id, batch.id)
        self.assertEqual(self.counts()["waiting"], 4)
        with self.assertRaises(Refused):
            self.intray.opinions(self.queue, 2, key="photo 17", people=4)
        with self.assertRaises(Refused):
            self.intray.opinions(self.queue, 2, people=10)

    def test_program_of_the_page_asks_one_person_more_if_two_do_not_agree(self) -> None:
        for verdicts, waiting in (("cat", "dog", "cat"), 0), (("cat", "dog", "bird"), 1):
            with tempfile.TemporaryDirectory() as folder:
                [program] = write(Path(folder), self.wire.url, page="opinions.md")
                text = program.read_text()
                program.write_text(text.replace('"labels"', f'"{self.queue}"').replace("picture 18", verdicts[2]))
                with subprocess.Popen([sys.executable, str(program)]) as running:
                    for worker, verdict in zip(("ann", "bob", "cleo"), verdicts, strict=True):
                        [held] = self.intray.reserve([self.queue], worker=worker, wait=20.0)
                        held.complete({"verdict": verdict})
                    self.assertEqual(running.wait(20), 0)
            self.assertEqual(self.counts()["waiting"], waiting)

    def test_event_loop_asks_too(self) -> None:
        async def story() -> None:
            async with AsyncIntray(self.wire.url) as intray:
                batch = await intray.opinions(self.queue, 1, people=2)
                for worker in ("ann", "bob"):
                    [held] = await intray.reserve([self.queue], worker=worker)
                    await held.complete("yes")
                given = [one async for one in intray.results(batch.id)]
                self.assertEqual(agreement(given), ("yes", 2))

        asyncio.run(story())


class Agreement(Story):
    def test_first_value_wins_a_tie(self) -> None:
        for first, second in (("a", "b"), ("b", "a")):
            self.assertEqual(agreement(results(first, second, second, first)), (first, 2))
        self.assertEqual(agreement(results("a", "b", "b")), ("b", 2))

    def test_only_completed_results_with_a_value_vote(self) -> None:
        self.assertEqual(agreement([]), (None, 0))
        self.assertEqual(agreement(results("a", "a", state="cancelled") + results("b")), ("b", 1))
        some = results({"v": None}, {"w": 1}, 7, None, [1], {"v": None})
        self.assertEqual(agreement(some, "/v"), (None, 2))
        self.assertEqual(agreement(results(None, None)), (None, 0))

    def test_pointer_follows_its_standard(self) -> None:
        value = {"": 1, "a/b": {"m~n": [10, [20]]}, "~1": 3, "0": 4}
        found_at = {"/": 1, "/a~1b/m~0n/0": 10, "/a~1b/m~0n/1/0": 20, "/~01": 3, "/0": 4, "": value}
        for pointer, found in found_at.items():
            self.assertEqual(agreement(results(value), pointer), (found, 1), pointer)
        for pointer in ("/a~1b/m~0n/2", "/a~1b/m~0n/01", "/a~1b/m~0n/-", "/a~1b/m~0n/-1", "/no", "/0/0"):
            self.assertEqual(agreement(results(value), pointer), (None, 0), pointer)
        for pointer in ("verdict", "/a~", "/a~2"):
            with self.assertRaises(ValueError):
                agreement(results(value), pointer)

    def test_values_are_compared_as_json(self) -> None:
        self.assertEqual(agreement(results(True, 1, 1.0)), (1, 2))
        first = {"a": 1, "b": [True]}
        self.assertEqual(agreement(results(first, {"b": [1], "a": 1}, {"b": [True], "a": 1.0})), (first, 2))
        self.assertEqual(agreement(results("1", 1)), ("1", 1))
