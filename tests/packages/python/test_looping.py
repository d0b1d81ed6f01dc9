"""The client for an event loop does all that the other does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import intray_client
from intray_client import AsyncIntray, AsyncReserved, Intray, NewJob, Refused, StillOpen
from loops import OnALoop
from world import CUT, LOSE, problem


class Everything(OnALoop):
    def run_with(self, main: Callable[[AsyncIntray], Coroutine[Any, Any, None]], **how: Any) -> None:
        async def run() -> None:
            async with AsyncIntray(self.wire.url, **{"retry_for": 20.0, **how}) as intray:
                await main(intray)

        asyncio.run(run())

    def test_both_clients_have_the_same_calls(self) -> None:
        def calls(kind: type) -> dict[str, list[str]]:
            found = {name: call for name, call in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
            return {name: list(inspect.signature(call).parameters) for name, call in found.items()}

        self.assertEqual(calls(AsyncIntray), calls(Intray))
        self.assertGreater(len(calls(Intray)), 25)
        self.assertEqual(calls(AsyncReserved), calls(intray_client.Reserved))
        for call in (Intray.ask, Intray.feed, Intray.results):
            self.assertTrue(call.__doc__)

    def test_producers_calls_work(self) -> None:
        async def main(intray: AsyncIntray) -> None:
            self.wire.once("/jobs", CUT, LOSE, problem(503, "unavailable", applied=False, retry_after_ms=10))
            job = await intray.enqueue(self.queue, {"photo": 17})
            self.assertEqual((await intray.job(job.id)).payload, {"photo": 17})
            with self.assertRaises(TimeoutError):
                await intray.wait(job.id, timeout=0.05)
            await intray.cancel(job.id)
            self.assertEqual((await intray.wait(job.id)).state, "cancelled")
            stored = await intray.enqueue_many(self.queue, range(1_500))
            self.assertEqual(len({one.id for one in stored}), 1_500)
            await asyncio.to_thread(self.work_off, 1_500)
            feed = intray.feed(self.queue, follow=False)
            self.assertEqual([job.result async for job in feed], list(range(1_500)))
            self.assertIsNotNone(feed.after)
            batch = await intray.create_batch(self.queue, [NewJob("a", priority=90), "b"])
            await asyncio.to_thread(self.work_off, 2, str.upper)
            self.assertEqual((await intray.wait_batch(batch.id)).state, "completed")
            self.assertEqual([result.result async for result in intray.results(batch.id)], ["A", "B"])
            other = await intray.create_batch(self.queue, ["c"])
            self.assertEqual((await intray.cancel_batch(other.id)).state, "cancelled")
            self.assertEqual((await intray.batch(other.id)).counts["cancelled"], 1)

        self.run_with(main)

    def test_operators_calls_work(self) -> None:
        async def main(intray: AsyncIntray) -> None:
            self.assertEqual((await intray.configure(self.queue, {"max_attempts": 1}))["max_attempts"], 1)
            await intray.enqueue_many(self.queue, range(3))
            self.assertTrue((await intray.pause(self.queue))["paused"])
            self.assertFalse((await intray.resume(self.queue))["paused"])
            for job in await intray.reserve([self.queue], limit=2):
                await job.fail("no such photo")
            dead = [job.id async for job in intray.dead(self.queue)]
            self.assertEqual(len(dead), 2)
            self.assertEqual(await intray.requeue(dead[0]), 1)
            self.assertEqual(await intray.requeue_all(self.queue), 1)
            self.assertEqual(len([job async for job in intray.jobs(self.queue, "waiting")]), 3)
            [job] = await intray.reserve([self.queue])
            self.assertEqual(await intray.release(job.id), 1)
            self.assertEqual(await intray.purge(self.queue, "all"), 3)
            self.assertIn(self.queue, [queue.name async for queue in intray.queues()])
            self.assertFalse((await intray.settings(self.queue))["paused"])
            self.assertEqual((await intray.queue(self.queue)).counts["waiting"], 0)

        self.run_with(main)

    def test_reserved_job_is_settled_by_hand(self) -> None:
        async def main(intray: AsyncIntray) -> None:
            await intray.enqueue_many(self.queue, ["skip", "extend"])
            one, two = await intray.reserve([self.queue], limit=2)
            self.assertEqual((await one.abandon(delay_ms=60_000)).state, "delayed")
            self.assertTrue(0 < await two.extend(draft={"so": "far"}, lease_ms=5_000) <= 5_000)
            self.assertEqual((await two.complete(2)).state, "completed")
            with self.assertRaises(Refused):
                await two.abandon()

        self.run_with(main)

    def test_worker_on_a_loop_extends_its_job(self) -> None:
        async def main(intray: AsyncIntray) -> None:
            stop, beaten = asyncio.Event(), asyncio.Event()

            async def work(job: AsyncReserved) -> Any:
                if job.payload == "bad":
                    raise LookupError("no such photo")
                await beaten.wait()
                stop.set()
                return {"was": job.payload}

            await intray.configure(self.queue, {"max_attempts": 1})
            bad, good = await intray.enqueue_many(self.queue, ["bad", "good"])
            working = asyncio.ensure_future(intray.consume([self.queue], work, lease_ms=1_000, stop=stop))
            await self.soon(self.is_extended)
            beaten.set()
            await working
            done, dead = await intray.job(good.id), await intray.job(bad.id)
            self.assertEqual((done.result, done.counts["expired"]), ({"was": "good"}, 0))
            self.assertEqual(dead.errors[0]["error"], "LookupError: no such photo")
            self.assertEqual(len(asyncio.all_tasks()), 1)

        self.run_with(main)

    def is_extended(self) -> bool:
        return len([call for call in self.wire.of("/jobs/extend") if call.status == 200]) >= 4

    def test_stopped_call_ends_while_the_service_is_away(self) -> None:
        async def main(intray: AsyncIntray) -> None:
            stop = asyncio.Event()
            self.wire.rule = lambda call: problem(503, "unavailable", applied=False, retry_after_ms=60_000)
            working = asyncio.ensure_future(intray.consume([self.queue], print, stop=stop))
            await self.soon(lambda: len(self.wire.calls) > 0)
            stop.set()
            await asyncio.wait_for(working, 10)

        self.run_with(main)

    def test_key_may_be_a_coroutine_function(self) -> None:
        keys = iter(["one", "two"])

        async def key() -> str:
            await asyncio.sleep(0)
            return next(keys)

        async def main(intray: AsyncIntray) -> None:
            self.wire.rule = lambda call: (
                problem(401, "unauthorized") if call.headers["authorization"] == "Bearer one" else None
            )
            await intray.enqueue(self.queue, 1)
            self.assertEqual([call.headers["authorization"] for call in self.wire.calls], ["Bearer one", "Bearer two"])

        self.run_with(main, key=key)

    def test_client_outlives_its_event_loop(self) -> None:
        intray = AsyncIntray(self.service.url)
        for n in range(2):
            with self.assertRaises(StillOpen):
                asyncio.run(intray.ask(self.queue, 1, key="one", timeout=0))
        asyncio.run(intray.close())
        self.assertEqual(self.plain.queue(self.queue).totals["enqueued"], 1)
