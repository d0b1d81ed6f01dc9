"""The results of a queue, one after the other, for as long as somebody wants to read them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from ._caller import Caller, Stopped
from ._errors import Refused
from ._models import Job, read

LIMIT = 100
#: Seconds that a call waits where nothing has been completed yet.
WAIT = 10.0


class Feed(Iterator[Job]):
    """Iterate over it. Keep `after` when what was read so far is dealt with, and begin there the next time: then nothing is
    missed, and of the last page some may come again.
    """

    def __init__(
        self,
        caller: Caller,
        queue: str,
        after: str | None,
        client: str | None,
        every: float | None,
        stop: threading.Event | None,
    ) -> None:
        self.after = after
        self._caller = caller
        self._path = f"/queues/{quote(queue, safe='')}/jobs"
        self._client = client
        self._every = every
        self._stop = stop
        self._page: deque[Job] = deque()
        self._next: str | None = None
        self._at_end = False
        self._seen: set[str] = set()  # behind `after`, and handed on already

    def __next__(self) -> Job:
        while not self._page:
            if not self._go_on():
                raise StopIteration
        return self._page.popleft()

    def _go_on(self) -> bool:
        """Looks once more, if there may be more. At the end of what there is, it rests first."""
        try:
            if self._next is not None:
                self.after, self._next = self._next, None
            elif self._at_end:
                if self._every is None:
                    return False
                self._come_nearer()
                self._rest(self._every if self._seen else 0.0)
            if not self._page:
                self._at_end = self._look(LIMIT)
        except Stopped:
            return False
        return True

    def _look(self, limit: int) -> bool:
        """Whether that was the last page. The end has no place of its own: what stood there comes again."""
        wait = WAIT if self._every is not None and not self._seen and not self._page else 0.0
        query: dict[str, Any] = {"state": "completed", "limit": limit, "wait_ms": int(wait * 1_000)}
        query |= {name: value for name, value in (("after", self.after), ("client", self._client)) if value is not None}
        try:
            said = self._caller.call("GET", self._path, query=query, wait=wait, stop=self._stop)
        except Refused as refused:
            if refused.type != "/problems/unknown-queue":
                raise
            self._rest(self._every or 0.0)
            return True
        jobs = [read(Job, job) for job in said["jobs"]]
        self._page.extend(job for job in jobs if job.id not in self._seen)
        self._next = said["next"]
        ids = {job.id for job in jobs}
        self._seen = ids if self._next is None else self._seen - ids
        return self._next is None

    def _come_nearer(self) -> None:
        """To the last place that there is, so that the next look finds one job again and not a hundred."""
        if len(self._seen) > 1:
            self._look(len(self._seen) - 1)
            if self._next is not None and not self._page:
                self.after, self._next = self._next, None

    def _rest(self, seconds: float) -> None:
        if self._stop is None:
            time.sleep(seconds)
        else:
            self._stop.wait(seconds)
