"""Who has worked lately, and what a worker holds and has done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ._models import SheetLine, read

#: How many ended reservations a summary has.
ENDED = 100


@dataclass(frozen=True)
class RecentWorkers:
    """Who has worked in a queue lately: by the jobs in hand, the day sheets, the last events and the calls that wait."""

    names: tuple[str, ...]
    #: What they can do, as far as it was asked for.
    skills: tuple[str, ...]
    #: More are known than the 1,000 that are listed.
    more: bool


@dataclass(frozen=True)
class WorkerSummary:
    """A worker in all queues of the key."""

    worker: str
    #: The jobs that the worker holds, each with `queue`, `id`, `reserved_at` and `expires_at`.
    holds: Sequence[Mapping[str, Any]]
    #: The last 100 reservations that ended, as events, the newest first: `type` is `completed`, `closing` while the worker can take
    #: that back, `abandoned`, `failed`, `handed-over`, `expired`, `released` or `cancelled`.
    ended: Sequence[Mapping[str, Any]]
    #: Reservations that ended earlier may be missing; `None`: all that the kept events know are there.
    since: str | None
    #: The worker's day sheets of the last 31 days with lines, by queue.
    sheets: Mapping[str, Sequence[SheetLine]]
    #: Queues that could not be read, because their node is away.
    unavailable: Sequence[str] = ()


def read_summary(page: Mapping[str, Any]) -> WorkerSummary:
    """Reads the part of a summary that one call answers."""
    lines = [(of["queue"], cast("Sequence[Mapping[str, Any]]", of["lines"])) for of in page["sheets"]]
    sheets = {queue: [read(SheetLine, line) for line in days] for queue, days in lines}
    return WorkerSummary(
        page["worker"], page["holds"], page["ended"], page["since"], sheets, tuple(page.get("unavailable", ()))
    )


def joined(one: WorkerSummary, other: WorkerSummary) -> WorkerSummary:
    """The summary of the queues of both. Times are compared as text: all have one format."""
    ended = sorted([*one.ended, *other.ended], key=lambda event: cast(str, event["at"]), reverse=True)
    known = [one.since, other.since, ended[ENDED - 1]["at"] if len(ended) > ENDED else None]
    return WorkerSummary(
        one.worker,
        sorted([*one.holds, *other.holds], key=lambda held: cast(str, held["reserved_at"])),
        ended[:ENDED],
        max((time for time in known if time is not None), default=None),
        {**one.sheets, **other.sheets},
        (*one.unavailable, *other.unavailable),
    )
