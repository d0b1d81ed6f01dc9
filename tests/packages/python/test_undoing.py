"""A worker takes a completion back."""

from __future__ import annotations

import asyncio
import json

from intray_client import Lost, Refused
from intray_client.aio import AsyncIntray
from world import Story


class Undoing(Story):
    def test_completion_is_taken_back_and_counts_the_second_time(self) -> None:
        asked = self.intray.enqueue(self.queue, "photo")
        (held,) = self.intray.reserve([self.queue], worker="ann")
        closing = held.complete({"verdict": "no"}, undo_ms=60_000)
        self.assertEqual((closing.state, closing.final, held.is_settled), ("reserved", False, True))
        self.assertTrue(0 < (closing.final_in_ms or 0) <= 60_000)
        with self.assertRaises(Refused) as refused:
            held.extend()
        self.assertEqual(refused.exception.type, "/problems/closing")
        self.assertIsNone(self.intray.job(asked.id).result)

        self.assertGreater(held.undo(), 60_000)
        self.assertEqual((held.is_settled, held.resumes, held.draft), (False, 1, {"verdict": "no"}))
        self.assertGreater(held.extend(draft="half"), 60_000)
        done = held.complete({"verdict": "yes"})
        self.assertEqual((done.state, done.final, done.final_in_ms), ("completed", True, None))
        self.assertEqual(self.intray.job(asked.id).result, {"verdict": "yes"})
        with self.assertRaises(Lost) as lost:
            held.undo()
        self.assertEqual(lost.exception.reason, "completed")

    def test_completion_that_was_repeated_after_its_undo_changes_nothing(self) -> None:
        self.intray.enqueue(self.queue, "photo")
        (held,) = self.intray.reserve([self.queue], worker="ann")
        held.complete("no", undo_ms=60_000)
        (sent,) = self.wire.of("/jobs/complete")
        held.undo()
        self.assertEqual(self.post("/jobs/complete", json.dumps(sent.body).encode()), 409)
        held.complete("yes", undo_ms=1_000)

    def test_program_with_an_event_loop_takes_back_too(self) -> None:
        self.intray.enqueue(self.queue, "photo")

        async def work() -> object:
            async with AsyncIntray(self.wire.url) as intray:
                (held,) = await intray.reserve([self.queue], worker="ann")
                await held.complete("no", undo_ms=60_000)
                await held.undo()
                await held.complete("yes")
                return held.draft

        self.assertEqual(asyncio.run(work()), "no")
