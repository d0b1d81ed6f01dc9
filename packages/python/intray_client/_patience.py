"""How long to wait before the next try. Absurd numbers in answers are ignored."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import PASSING, Applied, is_own

#: Seconds before the second try, and the longest before any that no answer asked for.
FIRST, LONGEST = 0.2, 10.0
#: Seconds that a `Retry-After` of a proxy may ask for, and intray itself. A longer wish of intray is absurd.
MINUTE, HOUR = 60.0, 3_600.0
#: Seconds that a proxy's `Retry-After` may name without being absurd.
DAY = 86_400.0
#: Answers like a filter's to one call, after which they are final.
SHUT_TRIES = 4


@dataclass(frozen=True)
class Problem:
    """A temporary failure: an answer, or none."""

    summary: str
    applied: Applied
    retry_after: float | None = None
    #: intray itself asked for `retry_after`.
    is_own: bool = False
    #: A proxy between this program and the service answered.
    is_foreign: bool = False
    #: It is as final as the service's own refusals, if it is not the passage as a whole that is shut for a while.
    is_shut: bool = False
    #: The refusal, if there was one.
    refused: Mapping[str, Any] | None = None


def passes(problem: Mapping[str, Any], retry_after: float | None = None) -> Problem:
    """Reads a temporary refusal."""
    own = is_own(problem)
    nothing = problem.get("applied") is False or problem["status"] in (*PASSING, 507)
    wished = number(problem.get("retry_after_ms"), HOUR * 1_000) if own else None
    detail = (own and (problem.get("detail") or problem.get("title"))) or "not in the words of intray"
    text = f"the answer was {problem['status']}: {detail}"
    if wished is not None:
        return Problem(text, False if nothing else "unknown", wished / 1_000, is_own=True)
    return Problem(text, False if nothing else "unknown", retry_after, is_foreign=not own)


def not_of_intray() -> Problem:
    """A captive portal's page with a success status."""
    return Problem("the answer is not of intray", "unknown", is_foreign=True, is_shut=True)


def number(value: Any, limit: float) -> float | None:
    """A finite number from 0 to `limit`, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= limit else None


def header_seconds(text: str) -> float | None:
    """The seconds of a `Retry-After`. Dates are ignored, because the clocks may differ."""
    text = text.strip()
    return number(float(text), DAY) if text.isascii() and text.isdecimal() else None


def pause(tries: int, problem: Problem, left: float) -> tuple[float, float]:
    """Seconds until the next try at the earliest, and at the latest. Each up to half as long again, so that not all callers
    come back at once. What a proxy wishes for never takes more than the time that is left.
    """
    longer = 1 + random.random() / 2
    own = min(LONGEST, FIRST * 2 ** min(tries, 10)) * longer
    if not problem.retry_after:
        return own, own
    wished = problem.retry_after * longer
    if problem.is_own:
        return wished, wished
    latest = min(wished, MINUTE, max(own, left - 0.05))
    return min(own, latest), latest
