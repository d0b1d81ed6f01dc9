"""Producers' calls: enqueue jobs and read their results."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any, Generic, TypeVar

from ._caller import Caller, in_path
from ._errors import Refused, SomeRefused, is_final, refusal
from ._feed import AsyncFeed, OnForgotten
from ._io import Event
from ._models import ENDS, Enqueued, Job, read, job_body
from ._patience import Problem, passes

#: Jobs in one call.
ITEMS = 1_000
#: Bytes of jobs in one call; the service takes 8 MiB.
BYTES = 6 << 20
#: Seconds that one call waits for an end; the service allows 30.
WAIT = 25.0

E = TypeVar("E", bound=Event)


def fresh_key() -> str:
    return secrets.token_hex(16)


def may_create(create: bool) -> dict[str, str]:
    """The query that says whether a queue that is not there is made."""
    return {} if create else {"create": "false"}


def chunks(items: Iterable[dict[str, Any]], limit: int) -> Iterator[list[dict[str, Any]]]:
    """Splits items into calls."""
    chunk: list[dict[str, Any]] = []
    weight = 0
    for item in items:
        own = Caller.weight(item)
        if chunk and (len(chunk) == limit or weight + own > BYTES):
            yield chunk
            chunk, weight = [], 0
        chunk.append(item)
        weight += own
    if chunk:
        yield chunk


class Producer(Generic[E]):
    _caller: Caller

    async def enqueue(
        self,
        queue: str,
        job: Any,
        *,
        idempotency_key: str | None = None,
        create: bool = True,
        retry_for: float | None = None,
    ) -> Enqueued:
        """Enqueues a payload or a `NewJob`. Retries make one job. A queue that is not there is made; with `create=False` the job is refused."""
        key = fresh_key() if idempotency_key is None else idempotency_key
        body = {"queue": queue, **job_body(job)}
        answer = await self._caller.call("POST", "/jobs", body, query=may_create(create), key=key, retry_for=retry_for)
        return read(Enqueued, answer)

    async def enqueue_many(
        self,
        queue: str,
        jobs: Iterable[Any],
        *,
        idempotency_key: str | None = None,
        create: bool = True,
        retry_for: float | None = None,
    ) -> list[Enqueued]:
        """Payloads, or `NewJob`s, however many, with an entry for each in order. `SomeRefused`: the others are stored.

        With an `idempotency_key` of yours, the same call after any exception, or in another process, continues where it stopped.
        """
        key = fresh_key() if idempotency_key is None else idempotency_key
        results: list[Enqueued | Refused] = []
        for n, chunk in enumerate(chunks(({"queue": queue, **job_body(job)} for job in jobs), ITEMS)):
            try:
                answer = await self._caller.call(
                    "POST",
                    "/jobs",
                    chunk,
                    query=may_create(create),
                    key=f"{key}-{n}",
                    retry_for=retry_for,
                    passing=_refused_for_now,
                )
            except Refused as refused:
                if refused.is_own:
                    raise
                results.extend([refused] * len(chunk))  # One of them, or all: those after it are none the worse for it.
                continue
            results.extend(refusal(item["error"]) if "error" in item else read(Enqueued, item) for item in answer["jobs"])
        stored = [result for result in results if isinstance(result, Enqueued)]
        if len(stored) < len(results):
            raise SomeRefused(results)
        return stored

    async def job(self, id: str) -> Job:
        """A job with its state and history."""
        return read(Job, await self._caller.call("GET", of_job(id)))

    async def wait(self, id: str, timeout: float | None = None) -> Job:
        """Waits until the job is completed, dead or cancelled. `TimeoutError`: it has not ended in time."""
        for wait, patience in waits(timeout, self._caller.retry_for):
            query = {"wait_ms": int(wait * 1_000)}
            job = read(Job, await self._caller.call("GET", of_job(id), query=query, wait=wait, retry_for=patience))
            if job.state in ENDS:
                return job
        raise TimeoutError("the job has not ended yet")

    async def cancel(self, id: str, *, force: bool = False) -> None:
        """Withdraws a job. `force`: even if it is reserved."""
        await self._caller.call("DELETE", of_job(id), query={"force": "true"} if force else None)

    async def token(
        self,
        worker: str,
        queues: Sequence[str] = (),
        *,
        job: str | None = None,
        skills: Sequence[str] = (),
        ttl: float = 3_600.0,
    ) -> str:
        """A token for a worker's page: for these queues, or for one job, as in a link. It lasts `ttl` seconds, a day at most."""
        scope: dict[str, Any] = {"queues": list(queues)} if job is None else {"job": job}
        body = {"worker": worker, **scope, "skills": list(skills), "ttl_ms": int(ttl * 1_000)}
        return str((await self._caller.call("POST", "/tokens", body))["token"])

    def feed(
        self,
        queue: str,
        *,
        after: str | None = None,
        client: str | None = None,
        follow: bool = True,
        every: float = 1.0,
        stop: E | None = None,
        forgotten: OnForgotten = "raise",
    ) -> AsyncFeed:
        """The queue's completed jobs in the order of their completion, those of batches left out.

        Begins after the cursor `after`, which is what an earlier feed had as `feed.after`. `follow`: at the end it waits for
        what is completed next, and looks again at most once in `every` seconds. `forgotten`: where jobs after `after` are gone,
        `Forgotten` is raised once, and the next iteration continues; or it is ignored, or given to a function.
        """
        return AsyncFeed(self._caller, queue, after, client, every if follow else None, stop, forgotten)


def _refused_for_now(answer: Any) -> Problem | None:
    """Whether to retry: after a full queue or an unavailable Redis, the same call stores what is missing."""
    passing = [item["error"] for item in answer["jobs"] if "error" in item and not is_final(item["error"])]
    return passes(passing[0]) if passing else None


def of_job(id: str) -> str:
    return "/jobs/" + in_path(id)


def waits(timeout: float | None, retry_for: float) -> Iterator[tuple[float, float]]:
    """The length of each call of a wait, and its retry time, until the time is over."""
    end = inf if timeout is None else time.monotonic() + timeout
    while True:
        left = max(0.0, end - time.monotonic())
        yield min(WAIT, left), min(retry_for, left)
        if left <= 0:
            return
