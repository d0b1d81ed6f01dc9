"""The feed of a queue's results."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Literal

from ._blocking import run
from ._caller import Caller, Stopped, in_path
from ._errors import Forgotten, Refused
from ._io import Event
from ._models import Job, read

#: Jobs per page.
LINES = 1_000
#: Seconds that a call waits for the next completion.
WAIT = 5.0
#: Seconds before an interrupted list is resumed.
PAUSE = 1.0

#: The page of a queue that does not exist yet.
NOTHING: Mapping[str, Any] = {"jobs": [], "next": None}

OnForgotten = Literal["raise", "ignore"] | Callable[[Forgotten], object]


class AsyncFeed(AsyncIterator[Job]):
    """Iterate over it. Keep `after` when a job is dealt with, and begin there the next time: then nothing is missed and nothing
    comes twice. After a `Forgotten`, or any other exception, the next iteration continues at `after`.
    """

    def __init__(
        self,
        caller: Caller,
        queue: str,
        after: str | None,
        client: str | None,
        every: float | None,
        stop: Event | None,
        forgotten: OnForgotten,
    ) -> None:
        #: The cursor after the last job of the feed.
        self.after = after
        self._caller = caller
        self._path = f"/queues/{in_path(queue)}/jobs"
        self._client = client
        self._every = every
        self._stop = stop
        self._forgotten: OnForgotten = forgotten
        self._lines: deque[dict[str, Any]] = deque()
        #: The cursor and number of the last reported forgotten jobs.
        self._missed: tuple[str | None, int | None] | None = None
        self._is_at_end = False
        self._is_rested = False

    async def __anext__(self) -> Job:
        while True:
            while self._lines and not (self._stop and self._stop.is_set()):
                job = await self._of_line(self._lines.popleft())
                if job is not None:
                    return job
            try:
                is_over = not await self._look()
            except Stopped:
                is_over = True
            if is_over:
                raise StopAsyncIteration

    async def _of_line(self, line: dict[str, Any]) -> Job | None:
        """Reads a line: a job, a number of forgotten jobs, or an error that ends the list."""
        job = read(Job, line) if "id" in line else None
        if job is None and "forgotten" in line:
            self._miss(line)
        if job is None and "error" in line:
            await self._caller.io.sleep(self._every or PAUSE, self._stop)
        self.after = line.get("next") or self.after
        return job

    async def _look(self) -> bool:
        """Whether there may be more. Lines have a place each; a page says when there is something, and passes over the rest."""
        if not self._is_at_end:
            self._lines.extend(await self._call(LINES, {}, 0.0))
            self._is_at_end = len(self._lines) < LINES
            self._is_rested = self._is_rested and not self._lines
            return True
        wait = 0.0
        if self._every is not None:
            await self._rest(self._every)
            wait = WAIT
        page = await self._call(0, {"limit": 1, "wait_ms": int(wait * 1_000)}, wait)
        self._is_rested = bool(wait) and page is not NOTHING
        self._is_at_end = not page["jobs"]
        if page["jobs"]:
            return True
        self._miss(page)
        self.after = page.get("next") or page.get("resume") or self.after
        return page.get("next") is not None or self._every is not None

    async def _rest(self, seconds: float) -> None:
        """Where results come one by one, they are not asked for one by one."""
        if not self._is_rested:
            await self._caller.io.sleep(seconds, self._stop)

    async def _call(self, lines: int, more: Mapping[str, Any], wait: float) -> Any:
        given = (("after", self.after), ("client", self._client))
        query = {"state": "completed", **more, **{name: value for name, value in given if value is not None}}
        patience = self._caller.retry_for if self._every is None else self._caller.patience
        try:
            return await self._caller.call(
                *("GET", self._path),
                query=query,
                wait=wait,
                stop=self._stop,
                retry_for=patience,
                waits_out=self._every is not None,
                lines=lines,
            )
        except Refused as refused:
            if refused.type != "/problems/unknown-queue":
                raise
            return [] if lines else NOTHING

    def _miss(self, page: Mapping[str, Any]) -> None:
        """Raises `Forgotten` once per cursor, and again if the number grows."""
        if "forgotten" not in page:
            return
        count, known = page["forgotten"], self._missed
        self._missed = self.after, count
        if known is not None and known[0] == self.after and (count is None or (known[1] or 0) >= count):
            return
        if count == 0 or self._forgotten == "ignore":
            return
        forgotten = Forgotten(count, self.after)
        if callable(self._forgotten):
            self._forgotten(forgotten)
        else:
            raise forgotten


class Feed(Iterator[Job]):
    """Iterate over it. Keep `after` when a job is dealt with, and begin there the next time: then nothing is missed and nothing
    comes twice. After a `Forgotten`, or any other exception, the next iteration continues at `after`.
    """

    def __init__(self, feed: AsyncFeed) -> None:
        self._feed = feed

    @property
    def after(self) -> str | None:
        """The cursor after the last job of the feed."""
        return self._feed.after

    def __next__(self) -> Job:
        try:
            return run(self._feed.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None
