"""The same calls on an event loop: no thread, one connection for each call that is under way.

    from intray_client.aio import AsyncIntray

    async with AsyncIntray("https://queue.example", key="...") as intray:
        job = await intray.enqueue("reviews", {"photo": 17})
        print((await intray.wait(job.id)).result)
"""

from __future__ import annotations

import asyncio
import inspect
import ssl
from collections import deque
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, cast

from ._ask import Asking
from ._batches import Batches
from ._caller import AsyncKey, Caller
from ._feed import AsyncFeed
from ._io import Event, Io
from ._operator import Operator
from ._opinions import Opinions
from ._producer import Producer
from ._reserved import AsyncReserved
from ._streams import connect
from ._wire import Message, NotSent, Place, Response, Wire
from ._worker import Worker

__all__ = ["AsyncFeed", "AsyncIntray", "AsyncReserved"]

#: Calls under way at once.
CALLS = 1_000


class AsyncIntray(
    Producer[asyncio.Event], Asking, Batches, Opinions, Worker[asyncio.Event, AsyncReserved], Operator
):
    """An intray service, for programs with an event loop. Any number of tasks may share one.

    Several loops may use one, one after the other or in threads at once: each has connections of its own.
    Cancel the task of a call to end it at once: its connection is closed. `url`, `key`, `timeout`, `retry_for` and `context` are those
    of `Intray`; `key` may be a coroutine function too. `calls`: calls of a loop under way at once, each with a connection; more
    of them wait for their turn.
    """

    def __init__(
        self,
        url: str,
        *,
        key: AsyncKey = None,
        timeout: float = 15.0,
        retry_for: float | None = None,
        context: ssl.SSLContext | None = None,
        calls: int = CALLS,
    ) -> None:
        self._url = url
        self._caller = Caller(AsyncIo(Place.of(url, context), calls), key, timeout, retry_for)
        self._reserved = AsyncReserved

    def __repr__(self) -> str:
        return f"AsyncIntray({self._url!r})"

    async def close(self) -> None:
        """Closes the pooled connections."""
        await self._caller.io.close()

    async def __aenter__(self) -> AsyncIntray:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncIo(Io):
    def __init__(self, place: Place, calls: int) -> None:
        self.wire = Wire(place, connect, asyncio.get_running_loop)
        self._calls = calls
        self._turns: dict[asyncio.AbstractEventLoop, Turns] = {}
        self._background: set[asyncio.Task[None]] = set()

    async def send(self, message: Message, *, timeout: float, wait: float) -> Response:
        turns = self._turns_here()
        if not await turns.take(timeout + wait):
            raise NotSent("as many calls as this client may make are under way")
        try:
            return await self.wire.send(message, timeout=timeout, wait=wait)
        finally:
            turns.give_back()

    def _turns_here(self) -> Turns:
        loop = asyncio.get_running_loop()
        if loop not in self._turns:
            for other in list(self._turns):
                if other.is_closed():
                    self._turns.pop(other, None)
        return self._turns.setdefault(loop, Turns(self._calls))

    async def sleep(self, seconds: float, stop: Event | None) -> None:
        if stop is None:
            return await asyncio.sleep(seconds)
        waiting = asyncio.ensure_future(cast(asyncio.Event, stop).wait())
        try:
            await asyncio.wait({waiting}, timeout=seconds)
        finally:
            waiting.cancel()

    def event(self) -> asyncio.Event:
        return asyncio.Event()

    def start(self, background: Coroutine[Any, Any, None], name: str) -> Callable[[], None]:
        task = asyncio.get_running_loop().create_task(background, name=name)
        # A loop keeps its tasks by weak references only.
        self._background.add(task)
        task.add_done_callback(self._background.discard)

        def end() -> None:
            task.cancel()

        return end

    def check(self, function: Any) -> None:
        pass

    async def outcome(self, value: Any) -> Any:
        return await value if inspect.isawaitable(value) else value

    async def close(self) -> None:
        self.wire.close()
        await asyncio.sleep(0)  # A loop closes a connection in its next turn.


class Turns:
    """At most `limit` at once; the others wait in line."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._line: deque[asyncio.Future[bool]] = deque()

    async def take(self, seconds: float) -> bool:
        """Whether there was one within this many seconds."""
        loop = asyncio.get_running_loop()
        if self._taken < self._limit:
            self._taken += 1
            return True
        turn: asyncio.Future[bool] = loop.create_future()
        self._line.append(turn)
        timer = loop.call_later(seconds, _pass_over, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.give_back()
            raise
        finally:
            timer.cancel()

    def give_back(self) -> None:
        """To the first in line."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                return turn.set_result(True)
        self._taken -= 1


def _pass_over(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)
