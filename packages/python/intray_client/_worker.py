"""Programs that do the work: one job at a time, kept alive while it is worked on."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from secrets import token_hex
from typing import Any

from ._caller import Caller, Stopped
from ._errors import IntrayError, Lost, Refused
from ._producer import fresh_key
from ._reserved import Reserved

log = logging.getLogger("intray_client")

#: Seconds that a call waits for a job: who is told to stop stops no later.
WAIT = 10.0
#: Seconds between two extensions, at most; it is a third of the lease if that is less.
HEARTBEAT = 60.0


def describe(error: Exception) -> str:
    """What a failed job says of its error, to whoever looks at it."""
    return f"{type(error).__name__}: {error}"


class Worker:
    _caller: Caller

    def reserve(
        self,
        queues: Sequence[str] = ("default",),
        *,
        worker: str | None = None,
        limit: int = 1,
        wait: float = 0.0,
        lease_ms: int | None = None,
        rotate: bool = False,
        stop: threading.Event | None = None,
        retry_for: float | None = None,
    ) -> list[Reserved]:
        """Takes up to `limit` jobs, or none after `wait` seconds, of which there are 30 at most. Settle each."""
        body: dict[str, Any] = {"queues": list(queues), "limit": limit, "wait_ms": int(wait * 1_000)}
        body |= {name: value for name, value in (("worker", worker), ("lease_ms", lease_ms)) if value is not None}
        if rotate:
            body["order"] = "rotate"
        # An answer that was lost is given again to whoever can be told from others. What nobody was given goes back.
        key = None if worker is None else fresh_key()
        answer = self._caller.call("POST", "/jobs/reserve", body, key=key, wait=wait, stop=stop, retry_for=retry_for)
        if not answer["jobs"] and wait and answer["reason"] == "shutdown" and stop is not None:
            stop.wait(answer["retry_after_ms"] / 1_000)
        return [Reserved(self._caller, said) for said in answer["jobs"]]

    def consume(
        self,
        queues: Sequence[str],
        work: Callable[[Reserved], Any],
        *,
        worker: str | None = None,
        lease_ms: int | None = None,
        rotate: bool = False,
        stop: threading.Event | None = None,
        describe: Callable[[Exception], str] = describe,
    ) -> None:
        """Takes one job after the other, until `stop` is set. What `work` answers is the result; what it raises fails the job.

        The job is extended while `work` runs; `job.is_lost` says when it is somebody else's all the same. `work` may settle the
        job itself. Services that are away are waited for; only what the service refuses for good is raised.
        """
        name = worker or f"{socket.gethostname()[:64]}-{os.getpid()}-{token_hex(4)}"
        ending = stop or threading.Event()
        while not ending.is_set():
            try:
                jobs = self.reserve(
                    queues, worker=name, wait=WAIT, lease_ms=lease_ms, rotate=rotate, stop=ending, retry_for=inf
                )
            except Stopped:
                return
            for job in jobs:
                with _kept_alive(job):
                    _do(job, work, describe)


def _do(job: Reserved, work: Callable[[Reserved], Any], describe: Callable[[Exception], str]) -> None:
    """Whatever happens, the loop goes on: at worst the lease decides."""
    try:
        _settle(job, work, describe)
    except Lost as lost:
        log.warning("%s was lost (%s) before it was handed in", job.id, lost.reason)
    except IntrayError as error:
        log.error("%s could not be handed in: %s", job.id, error)


def _settle(job: Reserved, work: Callable[[Reserved], Any], describe: Callable[[Exception], str]) -> None:
    try:
        result = work(job)
    except Exception as error:
        log.warning("%s failed: %s", job.id, type(error).__name__)
        if not job.is_settled:
            job.fail(describe(error))
        return
    except BaseException:
        if not job.is_settled:
            job.abandon(reason="the worker was stopped")
        raise
    if job.is_settled:
        return
    try:
        job.complete(result)
    except Lost:
        raise
    except (Refused, TypeError, ValueError) as error:  # it is no JSON, or too large
        log.warning("the result of %s was not taken: %s", job.id, type(error).__name__)
        job.fail(f"the result was not taken: {type(error).__name__}")


@contextmanager
def _kept_alive(job: Reserved) -> Iterator[None]:
    done = threading.Event()
    beat = min(HEARTBEAT, job.expires_in_ms / 3_000)
    heart = threading.Thread(target=_beat, args=(job, beat, done), name=f"intray {job.id}", daemon=True)
    heart.start()
    try:
        yield
    finally:
        done.set()


def _beat(job: Reserved, beat: float, done: threading.Event) -> None:
    while not done.wait(beat):
        try:
            job.extend(retry_for=beat)
        except Lost:
            return
        except IntrayError as error:
            log.info("%s could not be extended: %s", job.id, error)
