"""The errors. No text here, and no `repr`, has a key, a token, a reservation or a payload in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ._models import Enqueued

#: Whether a call that got no whole answer had an effect.
Applied = Literal[False, "unknown"]

#: Statuses below 500 after which the same call may succeed.
PASSING = (408, 425, 429)
#: A network that asks for a login, which no retry brings.
LOGIN = 511


class IntrayError(Exception):
    """Base class of all errors of this package."""


class Refused(IntrayError):
    """A refusal, which is final for this call. Switch on `type`; a proxy's refusal is `about:blank`."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = dict(problem)
        self.status = int(problem.get("status", 0))
        #: `False`: a proxy, a filter or a portal refused it, and the service has not seen the call.
        self.is_own = is_own(problem)
        self.type = str(problem.get("type", "about:blank"))
        super().__init__(f"{self.status} {self.type}: {problem.get('detail', problem.get('title', ''))}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Makes the exception picklable."""
        return type(self), (self.problem,)

    @property
    def job_state(self) -> str | None:
        """The job's current state, if it caused the refusal."""
        return self.problem.get("job_state")


class Lost(Refused):
    """The reservation has ended; `reason` says how."""

    @property
    def reason(self) -> str:
        return str(self.problem.get("reason", "unknown"))


class SomeRefused(IntrayError):
    """Some jobs of a bulk call were refused. All others are stored: `results` has an entry for each, in order."""

    def __init__(self, results: Sequence[Enqueued | Refused]) -> None:
        self.results = list(results)
        refused = [result for result in self.results if isinstance(result, Refused)]
        super().__init__(f"{len(refused)} of {len(self.results)} jobs were refused; the first: {refused[0]}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.results,)


class Forgotten(IntrayError):
    """Jobs have ended and are no longer kept.

    For a feed: jobs after its cursor, so that the feed cannot name them; it continues after them. `count`: how many, `None` where
    the cursor is too old for a count; with filters it is an upper bound. `after`: the cursor. For a question: its `job`.
    """

    def __init__(self, count: int | None, after: str | None, job: str | None = None) -> None:
        self.count, self.after, self.job = count, after, job
        number = "an unknown number of" if count is None else count
        feed = f"{number} ended jobs after this cursor are forgotten"
        super().__init__(feed if job is None else f"{job} has ended and is no longer kept: its answer is not known")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.count, self.after, self.job)


class NoAnswer(IntrayError):
    """A question has ended, and no one has answered it: none of these is a yes. `job`: the id of its job."""

    says = "has no answer"

    def __init__(self, job: str) -> None:
        self.job = job
        super().__init__(f"{job} {self.says}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job,)


class Expired(NoAnswer):
    """It expired before anyone answered."""

    says = "has expired without an answer"


class Withdrawn(NoAnswer):
    """It was cancelled."""

    says = "was withdrawn before it was answered"


class Dead(NoAnswer):
    """All who tried to answer it failed, as often as the queue allows. An operator may requeue the job."""

    says = "is dead: it failed as often as its queue allows"


class StillOpen(IntrayError, TimeoutError):
    """There was no answer in time. The question is still open: ask again with the same key. `job`: the id of its job."""

    def __init__(self, job: str) -> None:
        self.job = job
        super().__init__(f"{job} is not answered yet: ask again with the same key")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job,)


class WrongAnswer(IntrayError):
    """A question is answered, and not as its form asks: it is no yes. `job`: the id of its job. `raw`: what was handed in.

    `errors`: where the form does not fit, each with a `pointer` into `raw` and a `detail`; empty where the class of the form refused it.
    """

    def __init__(self, job: str, raw: Any, errors: Sequence[Mapping[str, str]] = ()) -> None:
        self.job, self.raw, self.errors = job, raw, list(errors)
        super().__init__(f"{job} is answered, but not as its form asks")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job, self.raw, self.errors)


class NotGenuine(IntrayError):
    """A delivery of a webhook that no given secret has signed, or that was sent too long ago. Answer it with 401."""


class Unavailable(IntrayError):
    """No valid answer arrived within the retry time. `applied` says whether the call may have had an effect."""

    def __init__(self, reason: str, applied: Applied, is_foreign: bool = False) -> None:
        self.applied: Applied = applied
        self.reason = reason
        #: The last answer was not from intray.
        self.is_foreign = is_foreign
        effect = "it had no effect" if applied is False else "it may have had an effect"
        super().__init__(f"{reason}; {effect}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.applied, self.is_foreign)


def refusal(problem: Mapping[str, Any]) -> Refused:
    """The error for a problem of RFC 9457."""
    return (Lost if problem.get("type") == "/problems/reservation-lost" else Refused)(problem)


def is_own(problem: Mapping[str, Any]) -> bool:
    """Whether the service itself answered, not a proxy."""
    return str(problem.get("type", "")).startswith("/problems/")


def is_final(problem: Mapping[str, Any]) -> bool:
    """Whether the refusal is final. A full queue or an unavailable Redis is temporary."""
    status = problem.get("status", 0)
    return is_own(problem) and 400 <= status < 500 and status not in PASSING


def is_refused_on_the_way(problem: Mapping[str, Any]) -> bool:
    """Whether a proxy refused the call for good: a 403, a 413, a redirect to a login."""
    status = problem.get("status", 0)
    return not is_own(problem) and (300 <= status < 500 and status not in PASSING or status == LOGIN)
