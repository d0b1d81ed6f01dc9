"""Batches: one request split into many jobs. A batch is created completely, ends once, and has ordered results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ._caller import Caller, in_path
from ._models import Batch, Result, read, job_body
from ._producer import chunks, fresh_key, may_create, waits

#: Jobs in the call that creates a batch, and in one that appends to it.
CREATE, APPEND = 10_000, 200
RESULTS = 1_000


class Batches:
    _caller: Caller

    async def create_batch(
        self,
        queue: str,
        jobs: Iterable[Any],
        *,
        concurrency: int | None = None,
        priority: int | None = None,
        client: str | None = None,
        idempotency_key: str | None = None,
        create: bool = True,
        retry_for: float | None = None,
    ) -> Batch:
        """A batch of any number of payloads or `NewJob`s. `concurrency`: the limit of jobs that are reserved at once.

        What does not go into one call is appended, and the batch sealed after it. With an `idempotency_key` of yours, the same
        call after any exception continues where it stopped. A queue that is not there is made; with
        `create=False` the batch is refused.
        """
        key = fresh_key() if idempotency_key is None else idempotency_key
        items = (job_body(job) for job in jobs)
        parts = chunks(items, CREATE)
        first, second = next(parts, []), next(parts, None)
        about = {"queue": queue, "concurrency": concurrency, "priority": priority, "client": client}
        about = {name: value for name, value in about.items() if value is not None}
        body = {**about, "jobs": first, "sealed": second is None}
        batch = read(Batch, await self._caller.call("POST", "/batches", body, query=may_create(create), key=key, retry_for=retry_for))
        if second is None:
            return batch
        offset = len(first)
        for part in _rest(second, parts):
            appended = {"offset": offset, "jobs": part}
            await self._caller.call("POST", _path(batch.id, "/jobs"), appended, retry_for=retry_for)
            offset += len(part)
        sealed = read(Batch, await self._caller.call("POST", _path(batch.id, "/seal"), {}, retry_for=retry_for))
        return replace(sealed, known=batch.known)

    async def batch(self, id: str, *, at: str | None = None) -> Batch:
        """Its state and counts. With `at`, a JSON pointer into each result (`""`: the whole of it), its `opinions` too."""
        query = {} if at is None else {"opinions": "true", "at": at}
        return read(Batch, await self._caller.call("GET", _path(id), query=query))

    async def batches(self, queue: str, *, at: str = "", agreement: str | None = None) -> AsyncIterator[Batch]:
        """The batches of a queue with their `opinions`, by when something happens to them next.

        `at`: a JSON pointer to what is compared of each result. `agreement`: only batches with an overlap whose answers are
        `unanimous`, `divided` or `incomplete`. The service reads page by page: what it leaves out costs as much as what it answers.
        """
        query = {"queue": queue, "opinions": "true", "at": at, **({} if agreement is None else {"agreement": agreement})}
        after: dict[str, str] = {}
        while True:
            page = await self._caller.call("GET", "/batches", query={**query, **after})
            for batch in page["batches"]:
                yield read(Batch, batch)
            if page["next"] is None:
                return
            after = {"after": page["next"]}

    async def wait_batch(self, id: str, timeout: float | None = None) -> Batch:
        """Waits for the end of the batch. `TimeoutError`: it has not ended in time."""
        for wait, patience in waits(timeout, self._caller.retry_for):
            query = {"wait_ms": int(wait * 1_000)}
            batch = read(Batch, await self._caller.call("GET", _path(id), query=query, wait=wait, retry_for=patience))
            if batch.is_over:
                return batch
        raise TimeoutError("the batch is not over yet")

    async def results(self, id: str) -> AsyncIterator[Result]:
        """The results of its jobs in order; a job that is not completed has no result."""
        after: dict[str, str] = {}
        while True:
            page = await self._caller.call("GET", _path(id, "/results"), query={"limit": RESULTS, **after})
            for result in page["results"]:
                yield read(Result, result)
            if page["next"] is None:
                return
            after = {"after": page["next"]}

    async def cancel_batch(self, id: str) -> Batch:
        """Cancels the batch. Reserved jobs may finish; all others are withdrawn."""
        return read(Batch, await self._caller.call("DELETE", _path(id)))


def _rest(second: list[dict[str, Any]], parts: Iterator[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    def all_items() -> Iterator[dict[str, Any]]:
        yield from second
        for part in parts:
            yield from part

    return chunks(all_items(), APPEND)


def _path(id: str, more: str = "") -> str:
    return "/batches/" + in_path(id) + more
