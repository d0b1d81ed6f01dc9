"""What can go wrong. No text here, and no `repr`, has a key, a token, a reservation or a payload in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ._models import Enqueued

#: Whether a call that got no whole answer had an effect.
Applied = Literal[False, "unknown"]


class IntrayError(Exception):
    """Whatever goes wrong between this program and the service."""


class Refused(IntrayError):
    """The service's own word, which is final. Switch on `type`."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = dict(problem)
        self.status = int(problem.get("status", 0))
        self.type = str(problem.get("type", "about:blank"))
        super().__init__(f"{self.status} {self.type}: {problem.get('detail', problem.get('title', ''))}")

    @property
    def job_state(self) -> str | None:
        """Where the job is now, if that is why."""
        return self.problem.get("job_state")


class Lost(Refused):
    """The reservation has ended; `reason` says how."""

    @property
    def reason(self) -> str:
        return str(self.problem.get("reason", "unknown"))


class SomeRefused(IntrayError):
    """Of many jobs some were refused for good. All others are stored: `results` has an entry for each, in order."""

    def __init__(self, results: Sequence[Enqueued | Refused]) -> None:
        self.results = list(results)
        refused = [result for result in self.results if isinstance(result, Refused)]
        super().__init__(f"{len(refused)} of {len(self.results)} jobs were refused; the first: {refused[0]}")


class Unavailable(IntrayError):
    """Nobody has answered well for as long as it was tried. `applied` says if the call may have had an effect all the same."""

    def __init__(self, said: str, applied: Applied) -> None:
        self.applied: Applied = applied
        effect = "it had no effect" if applied is False else "it may have had an effect"
        super().__init__(f"{said}; {effect}")


def refusal(problem: Mapping[str, Any]) -> Refused:
    """The error for a problem of RFC 9457."""
    return (Lost if problem.get("type") == "/problems/reservation-lost" else Refused)(problem)


def is_final(problem: Mapping[str, Any]) -> bool:
    """Only the service's own word is. A proxy's error page, a full queue, a Redis that is away: all that passes."""
    status = problem.get("status", 0)
    is_own = str(problem.get("type", "")).startswith("/problems/")
    return is_own and 400 <= status < 500 and status not in (408, 429)
