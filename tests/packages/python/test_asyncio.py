"""Many calls at once on one event loop, and nothing remains of those that are cancelled."""

from __future__ import annotations

import asyncio
import threading
import socket
import threading
from typing import Any

from intray_client import Answer, AsyncIntray, AsyncReserved, Unavailable
from intray_client._wire import KEPT
from intray_client.aio import Turns
from loops import OnALoop, Underway, sockets


class Many(OnALoop):
    def test_two_hundred_questions_at_once_are_all_answered(self) -> None:
        async def main() -> list[Answer]:
            async with AsyncIntray(self.service.url) as intray:
                underway = Underway(intray)
                asking = [asyncio.ensure_future(intray.ask(self.queue, n, key=f"k{n}", expires=900)) for n in range(200)]
                # Nobody answers before all of them wait.
                await self.soon(lambda: underway.count == 200)
                self.assertEqual(threading.active_count(), threads)
                await asyncio.to_thread(self.work_off, 200, lambda payload: payload * 2)
                answers = await asyncio.wait_for(asyncio.gather(*asking), 30)
                self.assertLessEqual(len(intray._caller.io.wire._pool()._idle), KEPT)  # type: ignore[attr-defined]
                return answers

        threads = threading.active_count()
        answers = asyncio.run(main())
        self.assertEqual([answer.result for answer in answers], [n * 2 for n in range(200)])

    def test_calls_beyond_the_limit_wait_for_their_turn(self) -> None:
        async def main() -> tuple[int, int]:
            peak = now = 0
            async with AsyncIntray(self.wire.url, calls=3) as intray:
                send = intray._caller.io.wire.send  # type: ignore[attr-defined]

                async def counted(*args: Any, **how: Any) -> Any:
                    nonlocal peak, now
                    now += 1
                    peak = max(peak, now)
                    try:
                        return await send(*args, **how)
                    finally:
                        now -= 1

                intray._caller.io.wire.send = counted  # type: ignore[attr-defined]
                jobs = await asyncio.gather(*(intray.enqueue(self.queue, n) for n in range(30)))
                return peak, len({job.id for job in jobs})

        self.assertEqual(asyncio.run(main()), (3, 30))

    def test_cancelled_turn_goes_to_the_next_in_line(self) -> None:
        async def main() -> None:
            turns = Turns(1)
            self.assertTrue(await turns.take(1))
            waiting = [asyncio.ensure_future(turns.take(20)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            turns.give_back()
            waiting[1].cancel()  # It has its turn already.
            self.assertTrue(await waiting[2])
            self.assertFalse(await turns.take(0.01), "it is taken")
            turns.give_back()
            self.assertTrue(await turns.take(0.01))

        asyncio.run(main())


class Loops(OnALoop):
    def test_several_loops_at_once_share_a_client(self) -> None:
        intray = AsyncIntray(self.wire.url)
        wrong: list[BaseException] = []

        async def calls() -> None:
            for _ in range(30):
                await asyncio.gather(*(intray.enqueue(self.queue, n) for n in range(4)))
            await intray.close()

        def run() -> None:
            try:
                asyncio.run(calls())
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Cancelling(OnALoop):
    def test_cancelled_question_stays_open_and_leaves_nothing(self) -> None:
        async def main() -> None:
            async with AsyncIntray(self.service.url) as intray:
                before, threads, underway = sockets(), threading.active_count(), Underway(intray)
                connections = self.connections()
                asking = [asyncio.ensure_future(intray.ask(self.queue, n, key=f"k{n}")) for n in range(20)]
                await self.soon(lambda: underway.count == 20)
                self.assertGreaterEqual(self.connections() - connections, 20)
                for task in asking:
                    task.cancel()
                outcomes = await asyncio.gather(*asking, return_exceptions=True)
                self.assertEqual({type(outcome) for outcome in outcomes}, {asyncio.CancelledError})
                await asyncio.sleep(0)
                # What is kept for the next call has answered all that it was asked.
                intray._caller.io.wire.close()  # type: ignore[attr-defined]
                await asyncio.sleep(0)
                self.assertEqual(sockets(), before)
                self.assertEqual(threading.active_count(), threads)
                await self.soon(lambda: self.connections() == connections)
                self.assertEqual(asyncio.all_tasks(), {asyncio.current_task()})

        asyncio.run(main())
        self.assertEqual(self.counts()["waiting"], 20)
        self.work_off(20)
        self.assertEqual(self.plain.ask(self.queue, 7, key="k7").result, 7, "the same key finds the answer")

    def test_call_cancelled_at_any_moment_leaves_nothing(self) -> None:
        """After one turn of the loop, after two, and so on, through connection, request and answer."""

        async def main() -> None:
            for turns in range(60):
                before = sockets()
                intray = AsyncIntray(self.service.url)
                task = asyncio.ensure_future(intray.ask(self.queue, "open", key="open"))
                for _ in range(turns):
                    await asyncio.sleep(0.0005 if turns > 30 else 0)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                await intray.close()
                for _ in range(3):
                    await asyncio.sleep(0)
                self.assertEqual(sockets(), before, turns)
                self.assertEqual(asyncio.all_tasks(), {asyncio.current_task()})

        asyncio.run(main())
        self.plain.enqueue(self.queue, "another")
        self.assertEqual(self.plain.queue(self.queue).totals["enqueued"], 2)

    def test_handshake_that_does_not_end_can_be_cancelled(self) -> None:
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)

        async def main() -> None:
            before = sockets()
            for patience in (None, 0.1):
                intray = AsyncIntray(f"https://127.0.0.1:{silent.getsockname()[1]}", timeout=patience or 20, retry_for=0)
                task = asyncio.ensure_future(intray.enqueue(self.queue, 1))
                await asyncio.sleep(0.05)
                if patience is None:
                    task.cancel()
                with self.assertRaises((asyncio.CancelledError, Unavailable)):
                    await task
                for _ in range(5):
                    await asyncio.sleep(0)
                self.assertEqual(sockets(), before)
                self.assertEqual(asyncio.all_tasks(), {asyncio.current_task()})

        asyncio.run(main())

    def test_cancelled_worker_gives_the_job_back(self) -> None:
        job = self.plain.enqueue(self.queue, 1)

        async def main() -> None:
            async with AsyncIntray(self.wire.url) as intray:
                begun = asyncio.Event()

                async def work(job: AsyncReserved) -> None:
                    begun.set()
                    await asyncio.sleep(60)

                working = asyncio.ensure_future(intray.consume([self.queue], work))
                await asyncio.wait_for(begun.wait(), 20)
                working.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await working
                await asyncio.sleep(0)
                self.assertEqual(asyncio.all_tasks(), {asyncio.current_task()})

        asyncio.run(main())
        stored = self.plain.job(job.id)
        self.assertEqual((stored.state, stored.attempts, stored.counts["abandoned"]), ("waiting", 0, 1))
