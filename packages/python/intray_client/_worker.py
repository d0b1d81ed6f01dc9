"""Programs that do the work: one job at a time, kept alive while it is worked on."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from math import inf
from secrets import token_hex
from typing import Any, Generic, TypeVar, cast

from ._caller import Caller, Stopped
from ._doing import Describe, Work, do, places
from ._io import Event
from ._patience import MINUTE, Problem, not_of_intray, number
from ._producer import fresh_key
from ._reserved import Handout
from ._text import cut

#: Seconds that a call waits for a job, and after which a stop takes effect at the latest.
WAIT = 10.0
#: Seconds until a service that ends is asked again, if it does not say.
AGAIN = 1.0
#: Bytes of the name of this machine in the name of a worker.
HOST = 64


def describe(error: Exception) -> str:
    """The error text of a failed job."""
    return f"{type(error).__name__}: {error}{places(error)}"


E = TypeVar("E", bound=Event)
R = TypeVar("R", bound=Handout)


class Worker(Generic[E, R]):
    _caller: Caller
    #: What is made of a job that is handed out.
    _reserved: type[R]

    async def reserve(
        self,
        queues: Sequence[str] = ("default",),
        *,
        worker: str | None = None,
        skills: Sequence[str] | None = None,
        limit: int = 1,
        wait: float = 0.0,
        lease_ms: int | None = None,
        rotate: bool = False,
        id: str | None = None,
        stop: E | None = None,
        retry_for: float | None = None,
    ) -> list[R]:
        """Takes up to `limit` jobs, or none after `wait` seconds, of which there are 30 at most. Settle each.

        `skills`: what the worker can do. With a token it can only narrow what the token says. `id`: this job, and the
        queues do not count; `Refused` if it cannot be had.
        """
        body: dict[str, Any] = {"id": id}
        if id is None:
            body = {"queues": list(queues), "limit": limit, "wait_ms": int(wait * 1_000)}
        body |= {name: value for name, value in (("worker", worker), ("lease_ms", lease_ms)) if value is not None}
        if skills is not None:
            body["skills"] = list(skills)
        if rotate:
            body["order"] = "rotate"
        # A named worker that repeats the call gets a lost answer again. Jobs that were not delivered go back.
        key = None if worker is None else fresh_key()
        patience = self._caller.patience if retry_for is None else retry_for
        answer = await self._caller.call(
            *("POST", "/jobs/reserve", body),
            key=key,
            wait=wait,
            stop=stop,
            retry_for=patience,
            waits_out=patience == inf,
            passing=_no_handouts,
        )
        if not answer["jobs"] and wait and answer.get("reason") == "shutdown" and stop is not None:
            asked = number(answer.get("retry_after_ms"), MINUTE * 1_000)
            await self._caller.io.sleep(AGAIN if asked is None else asked / 1_000, stop)
        return [self._reserved(self._caller, handout) for handout in answer["jobs"]]

    async def consume(
        self,
        queues: Sequence[str],
        work: Work[R],
        *,
        worker: str | None = None,
        skills: Sequence[str] | None = None,
        lease_ms: int | None = None,
        rotate: bool = False,
        stop: E | None = None,
        describe: Describe = describe,
        traceback: bool = False,
    ) -> None:
        """Takes one job after the other, until `stop` is set. What `work` answers is the result; what it raises fails the job.

        The job is extended while `work` runs; `job.is_lost` says whether it was lost all the same. `work` may settle the
        job itself. `traceback`: a failed job's error says where it was raised, too. Services that are away are waited for; only
        what the service refuses for good is raised, and what ends the program: then the job is given back, if a second is enough.
        """
        self._caller.io.check(work)
        name = worker or f"{cut(socket.gethostname(), HOST)}-{os.getpid()}-{token_hex(4)}"
        ending = stop or cast(E, self._caller.io.event())
        while not ending.is_set():
            try:
                jobs = await self.reserve(
                    queues,
                    worker=name,
                    skills=skills,
                    wait=WAIT,
                    lease_ms=lease_ms,
                    rotate=rotate,
                    stop=ending,
                    retry_for=inf,
                )
            except Stopped:
                return
            for job in jobs:
                await do(job, work, describe, traceback)


def _no_handouts(answer: Any) -> Problem | None:
    is_own = isinstance(answer, dict) and isinstance(answer.get("jobs"), list)
    return None if is_own else not_of_intray()
