"""A job in hand, for programs that block and for those with an event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ._blocking import blocking
from ._caller import Caller
from ._errors import IntrayError, Lost, Refused
from ._models import read
from ._patience import DAY, number
from ._text import cut

#: Bytes of an error, and of a reason.
ERROR, REASON = 1_024, 256
#: Seconds of a lease of which nothing sensible is known.
UNKNOWN_LEASE = 30.0


@dataclass(frozen=True)
class Ended:
    """What became of the job. `duplicate`: this call came before; `late`: the lease was over, and no other worker had taken the job;
    `final`: it can no longer be taken back; otherwise it can, for `final_in_ms`.
    """

    id: str
    state: str
    duplicate: bool
    late: bool = False
    final: bool = True
    final_in_ms: int | None = None


class Handout:
    """What was handed out, until it is completed, abandoned, failed or handed over, or its lease runs out."""

    def __init__(self, caller: Caller, handout: Mapping[str, Any]) -> None:
        self._caller = caller
        # The only handle to the job and the only credential to settle it: nothing shows it.
        self._reservation = str(handout["reservation"])
        self.id = str(handout["id"])
        self.queue = str(handout["queue"])
        self.payload: Any = handout["payload"]
        #: 1 at the first hand-out.
        self.attempt = int(handout["attempt"])
        self.priority = int(handout["priority"])
        self.client: str | None = handout["client"]
        self.locks: list[str] = list(handout["locks"])
        self.batch: str | None = handout["batch"]
        self.worker: str | None = handout["worker"]
        self.enqueued_at = str(handout["enqueued_at"])
        self.resumed = bool(handout["resumed"])
        #: How often it was handed out again to its worker, or a completion of it was taken back.
        self.resumes = int(handout["resumes"])
        #: The draft that `extend` saved: of this worker, or of an earlier one if the queue shares drafts.
        self.draft: Any = handout["draft"]
        self.traceparent: str | None = handout["traceparent"]
        #: The note of the worker who has handed it over: `text`, which may be empty, `from` and `at`.
        self.note: Mapping[str, Any] | None = handout.get("note")
        #: The job is no longer this worker's. `complete` may still count, if nobody else has taken it.
        self.is_lost = False
        #: It was completed, abandoned, failed or handed over.
        self.is_settled = False
        #: Used by `consume`: called when a draft is refused, which then ends nothing.
        self._on_refused_draft: Callable[[Exception], None] | None = None
        #: The ending that was asked for last.
        self._ending: tuple[str, dict[str, Any]] | None = None
        self._learn(handout)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, queue={self.queue!r}, attempt={self.attempt}, worker={self.worker!r})"

    @property
    def expires_in_ms(self) -> int:
        """What is left of the lease."""
        return max(0, int((self._end - time.monotonic()) * 1_000))

    async def _extend(self, *, draft: Any = None, lease_ms: int | None = None, retry_for: float | None = None) -> int:
        """Keeps the job longer, and with it what is done of it so far; answers the milliseconds that are left.

        A draft that is refused, or that is no JSON, never costs the job: the lease is extended without it, and then the refusal
        is raised, or, while `consume` does the job, logged.
        """
        body = {name: value for name, value in (("draft", draft), ("lease_ms", lease_ms)) if value is not None}
        try:
            self._learn(await self._settle("extend", body, retry_for))
        except Exception as error:
            is_about_draft = isinstance(error, Refused) or not isinstance(error, IntrayError)
            if draft is None or isinstance(error, Lost) or not is_about_draft:
                raise
            body.pop("draft")
            self._learn(await self._settle("extend", body, retry_for))
            if self._on_refused_draft is None:
                raise
            self._on_refused_draft(error)
        return self.expires_in_ms

    async def _complete(self, result: Any = None, *, undo_ms: int = 0) -> Ended:
        """Completes the job. `Lost`: another worker has taken the job meanwhile; the result is kept among its `late_results`.

        For `undo_ms`, a minute at most, `undo` takes it back; until then the result is not shown.
        """
        undo = {"undo_ms": undo_ms, "resumes": self.resumes} if undo_ms else {}
        return await self._end_by("complete", {"result": result, **undo})

    async def _undo(self) -> int:
        """Takes a completion back while it is not final; answers the milliseconds that are left of the lease. The job is held again, and
        its `draft` is what was handed in. `Lost`, with the reason `completed`: it is final.
        """
        undone = await self._settle("undo", {}, None)
        self.is_settled, self._ending = False, None
        self.resumes, self.draft = int(undone["resumes"]), undone["draft"]
        self._learn(undone)
        return self.expires_in_ms

    async def _abandon(self, *, reason: str | None = None, delay_ms: int | None = None, skip: bool = False) -> Ended:
        """Gives it back to its place in line, which counts no attempt. `skip`: not to this worker again."""
        body = {"reason": None if not reason else cut(reason, REASON), "delay_ms": delay_ms, "skip": skip or None}
        return await self._end_by("abandon", {name: value for name, value in body.items() if value is not None})

    async def _fail(self, error: str | None = None) -> Ended:
        """It could not be done, which counts an attempt."""
        return await self._end_by("fail", {} if not error else {"error": cut(error, ERROR)})

    async def _hand_over(
        self,
        to: str | None = None,
        *,
        skill: str | None = None,
        note: str | None = None,
        draft: Any = None,
        fallback_ms: int | None = None,
    ) -> Ended:
        """Gives it to another worker, or to those with a skill, which counts no attempt. They get the note (at most 1,024 bytes) and
        the draft with it. It is theirs alone for 15 minutes, or for `fallback_ms`. `Refused`: the worker may not have it, and this one
        keeps it.
        """
        body = {"to": to, "skill": skill, "note": note, "draft": draft, "fallback_ms": fallback_ms}
        return await self._end_by("hand-over", {name: value for name, value in body.items() if value is not None})

    async def _end_by(self, action: str, body: dict[str, Any], retry_for: float | None = None) -> Ended:
        self._ending = action, body
        ended = read(Ended, await self._settle(action, body, retry_for))
        self.is_settled = True
        return ended

    async def _settle(self, action: str, body: dict[str, Any], retry_for: float | None) -> Any:
        asked = {"reservation": self._reservation, **body}
        patience = self._caller.patience if retry_for is None else retry_for
        try:
            return await self._caller.call("POST", f"/jobs/{action}", asked, retry_for=patience)
        except Lost:
            self.is_lost = not self.is_settled
            raise

    def _learn(self, handout: Mapping[str, Any]) -> None:
        left = number(handout.get("expires_in_ms"), DAY * 1_000)
        self._end = time.monotonic() + (UNKNOWN_LEASE if left is None else left / 1_000)


class AsyncReserved(Handout):
    """What was handed out, until it is completed, abandoned, failed or handed over, or its lease runs out."""

    extend, complete, abandon, fail = Handout._extend, Handout._complete, Handout._abandon, Handout._fail
    hand_over, undo = Handout._hand_over, Handout._undo


class Reserved(Handout):
    """What was handed out, until it is completed, abandoned, failed or handed over, or its lease runs out."""

    extend, complete = blocking(Handout._extend), blocking(Handout._complete)
    abandon, fail = blocking(Handout._abandon), blocking(Handout._fail)
    hand_over, undo = blocking(Handout._hand_over), blocking(Handout._undo)
