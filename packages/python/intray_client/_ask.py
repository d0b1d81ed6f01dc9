"""Asking people: a question is a job under a key, and its answer is what became of the job."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, Generic, TypedDict

from ._caller import Caller
from ._errors import Dead, Expired, Forgotten, Refused, StillOpen, Unavailable, Withdrawn
from ._form import FormModel, QuestionForm, R
from ._models import ENDS, Job, NewJob, read
from ._patience import Problem, not_of_intray
from ._producer import of_job

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Seconds that one call waits for an answer: as long as the service allows.
WAIT = 30.0
#: Seconds after which a question may expire at the latest.
EXPIRES = 2_592_000


class Question(TypedDict, total=False):
    """What a question may say besides its payload; see `NewJob`."""

    priority: int
    client: str
    dedupe_key: str
    dedupe: bool
    delay_ms: int
    lease_ms: int
    max_attempts: int
    backoff: Mapping[str, Any]
    locks: Sequence[str]
    sla_ms: int
    assignees: Sequence[str]
    skill: str
    fallback_ms: int
    excluded: Sequence[str]


@dataclass(frozen=True)
class Answer(Generic[R]):
    """What a person decided. `result` is what was handed in, or the instance of the class that was the form."""

    result: R = field(repr=False)
    #: The name of the worker, if it had one.
    worker: str | None
    #: The id of the job.
    job: str
    #: By the queue's clock (RFC 3339).
    completed_at: str


class Asking:
    _caller: Caller

    async def ask(
        self,
        queue: str,
        payload: Any,
        *,
        key: str,
        form: FormModel[R] | Mapping[str, Any] | None = None,
        expires: float | None = None,
        timeout: float | None = None,
        **job: Unpack[Question],
    ) -> Answer[R]:
        """Asks a person and waits for the answer. However often the same question is asked under one key, also by another process,
        it is one job; another payload under that key is refused.

        `expires`: seconds after which it can no longer be answered. `timeout`: seconds to wait; 0 asks and does not wait. Until then
        lost connections and a service that is away are tried again. `form`: what the answer looks like, as a JSON Schema or as a class
        with `model_json_schema()` and `model_validate()`, whose instance is the `result`; it goes into the payload, an object.
        Raises `Expired`, `Withdrawn` or `Dead`: it has ended without an answer. `Forgotten`: it has ended and is no longer kept.
        `StillOpen`, a `TimeoutError`: ask again with the same key. `Refused`: the question, the credential or the key is no good.
        `Unavailable`: it could not be asked in time. `WrongAnswer`: it is answered, and not as the form asks. `ValueError`: the form
        cannot be drawn, or another argument is no good; nothing was asked.
        """
        if not isinstance(key, str) or not 1 <= len(key) <= 256:
            raise ValueError("the key of a question is a text of 1 to 256 bytes")
        if expires is not None and (isinstance(expires, bool) or not isinstance(expires, (int, float)) or not 1 <= expires <= EXPIRES):
            raise ValueError("expires is a number of seconds, from 1 to 2592000 (30 days)")
        asked = None if form is None else QuestionForm(form)
        body = asked.added_to(payload) if asked else payload
        end = inf if timeout is None else time.monotonic() + timeout
        if "dedupe_key" not in job:
            # An equal question under another key is about another action: the answer to one is none to the other.
            job.setdefault("dedupe", False)
        expires_ms = None if expires is None else round(expires * 1_000)
        sent = {"queue": queue, **NewJob(body, expires_ms=expires_ms, **job).body()}
        patience = inf if timeout is None else timeout or self._caller.retry_for
        stored = await self._caller.call(
            "POST", "/jobs", sent, key=key, retry_for=patience, passing=lambda job: _is_job(job, queue=queue)
        )
        while True:
            is_last = time.monotonic() >= end
            answer = await self._look(str(stored["id"]), end)
            if answer is not None:
                return replace(answer, result=asked.answer(answer.job, answer.result)) if asked else answer
            if is_last:
                raise StillOpen(str(stored["id"]))

    async def _look(self, id: str, end: float) -> Answer[Any] | None:
        """The answer, if there is one within `WAIT` seconds, or by the end."""
        left = max(0.0, end - time.monotonic())
        try:
            answer = await self._caller.call(
                "GET", of_job(id), wait=WAIT, until=end, retry_for=left, passing=lambda job: _is_job(job, id=id)
            )
        except Refused as refused:
            if refused.is_own and refused.status in (404, 410):
                raise Forgotten(1, None, id) from None
            raise
        except Unavailable as away:
            if left == inf:
                raise
            raise StillOpen(id) from away
        job = read(Job, answer)
        if job.state not in ENDS:
            return None
        if job.state == "completed" and job.completed is not None:
            return Answer(job.result, job.completed.get("worker"), job.id, str(job.completed.get("at")))
        if job.state == "dead":
            raise Dead(job.id)
        raise (Expired if (job.cancelled or {}).get("reason") == "expired" else Withdrawn)(job.id)


def _is_job(answer: Any, **names: str) -> Problem | None:
    """A page of something on the way is asked for again."""
    is_own = isinstance(answer, dict) and isinstance(answer.get("id"), str) and isinstance(answer.get("state"), str)
    return None if is_own and all(answer.get(name) == value for name, value in names.items()) else not_of_intray()
