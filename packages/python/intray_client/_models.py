"""What goes to the service and what comes back. Times are text (RFC 3339), durations are milliseconds and end in `_ms`, as in the
contract. A `repr` shows no payload, no result, no draft and no reservation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypedDict, TypeVar

#: The final states of jobs and batches.
ENDS = ("completed", "dead", "cancelled")
BATCH_ENDS = ("completed", "failed", "cancelled")

State = Literal["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"]

T = TypeVar("T")


def read(kind: type[T], answer: Mapping[str, Any]) -> T:
    """Reads the known fields of an answer; a newer service may send more."""
    names = {each.name for each in fields(kind) if each.init}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in answer.items() if name in names})


@dataclass(frozen=True)
class NewJob:
    """A job with more than a payload. The queue's settings apply to omitted fields."""

    payload: Any = field(repr=False)
    priority: int | None = None
    client: str | None = None
    dedupe_key: str | None = None
    dedupe: bool | None = None
    delay_ms: int | None = None
    run_at: str | None = None
    lease_ms: int | None = None
    max_attempts: int | None = None
    backoff: Mapping[str, Any] | None = None
    locks: Sequence[str] | None = None
    #: By then it has ended: if no one has completed it, it is cancelled.
    expires_ms: int | None = None
    expires_at: str | None = None
    #: By then it should have ended: what has not is marked as breached.
    sla_ms: int | None = None
    sla_at: str | None = None
    #: Only these workers, and only those with this skill, are given it, until this long after it is first ready.
    assignees: Sequence[str] | None = None
    skill: str | None = None
    fallback_ms: int | None = None
    #: These workers never are.
    excluded: Sequence[str] | None = None

    def body(self) -> dict[str, Any]:
        """The JSON body of the contract."""
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "payload"}
        return {"payload": self.payload, **{name: value for name, value in options.items() if value is not None}}


def job_body(job: Any) -> dict[str, Any]:
    """The JSON body of a `NewJob` or of a plain payload."""
    return (job if isinstance(job, NewJob) else NewJob(job)).body()


@dataclass(frozen=True)
class Enqueued:
    """A stored job. `duplicate`: an equal live job existed, by payload or `dedupe_key`."""

    id: str
    queue: str
    state: str
    duplicate: bool


@dataclass(frozen=True)
class Job:
    """A job with its state and history."""

    id: str
    queue: str
    state: str
    payload: Any = field(repr=False)
    priority: int
    client: str | None
    locks: Sequence[str]
    batch: str | None
    attempts: int
    counts: Mapping[str, int]
    #: The worker that completed it, the time, and how long it was held.
    completed: Mapping[str, Any] | None
    errors: Sequence[Mapping[str, Any]]
    reasons: Sequence[Mapping[str, Any]] = field(repr=False)
    result: Any = field(repr=False)
    late_results: Sequence[Mapping[str, Any]] = field(repr=False)
    enqueued_at: str
    due_at: str | None
    ended_at: str | None
    #: By then it has ended.
    expires_at: str | None = None
    #: By then it should have ended, and whether it had not.
    sla_at: str | None = None
    breached: bool = False
    #: The `reason` why it was cancelled: `expired` or `withdrawn`.
    cancelled: Mapping[str, Any] | None = None
    #: The `worker` that had it last when it died, from `reserved_at` until `at`.
    died: Mapping[str, Any] | None = None
    #: Only these workers, and only those with this skill, are given it, until then; `None`: it is for all of them.
    assignees: Sequence[str] | None = None
    skill: str | None = None
    fallback_ms: int | None = None
    fallback_at: str | None = None
    #: These workers never are.
    excluded: Sequence[str] | None = None
    #: To which `worker`, or those with which `skill`, it was handed over, `from` whom, and `until` when it is theirs alone.
    handed_to: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Batch:
    """A batch with its state and counts."""

    id: str
    queue: str
    state: str
    concurrency: int | None
    priority: int
    client: str | None
    #: The number of its jobs by state, and `total`.
    counts: Mapping[str, int]
    created_at: str
    sealed_at: str | None
    ended_at: str | None
    #: If they were asked for and it has an overlap: the `payload`, `agreement` (`unanimous`, `divided` or `incomplete`), the different
    #: `answers` with their `votes`, where they differ (`differs`), and its `jobs`, each with its `worker` and the place of its `answer`.
    opinions: Mapping[str, Any] | None = field(default=None, repr=False)
    #: From `create_batch`: whether an earlier call with the same `idempotency_key` has created it.
    known: bool | None = None

    @property
    def is_over(self) -> bool:
        return self.state in BATCH_ENDS


@dataclass(frozen=True)
class Result:
    """The result of one job of a batch."""

    id: str
    #: The job's place in the batch, counted from 0.
    index: int
    state: str
    result: Any = field(repr=False)
    completed: Mapping[str, Any] | None


class Settings(TypedDict):
    """The settings of a queue. Durations are milliseconds; a limit of 0 means no limit."""

    paused: bool
    lease_ms: int
    max_hold_ms: int
    warn_ms: int
    max_attempts: int
    backoff: Mapping[str, Any] | None
    dedupe: bool
    worker_limit: int
    share_drafts: bool
    browse: bool
    retention_ms: int
    retention_max: int
    max_jobs: int
    sheets: bool
    sheets_days: int
    time_zone: str
    result_schema_sha256: str | None


class SettingsChange(TypedDict, total=False):
    """Omitted settings stay; `None` resets one to its default."""

    paused: bool | None
    lease_ms: int | None
    max_hold_ms: int | None
    warn_ms: int | None
    max_attempts: int | None
    backoff: Mapping[str, Any] | None
    dedupe: bool | None
    worker_limit: int | None
    share_drafts: bool | None
    browse: bool | None
    retention_ms: int | None
    retention_max: int | None
    max_jobs: int | None
    sheets: bool | None
    sheets_days: int | None
    time_zone: str | None
    result_schema: Mapping[str, Any] | None


class JobChange(TypedDict, total=False):
    """Omitted fields stay; `None` takes one away, but not the priority. Times and fallback count from the call."""

    priority: int
    expires_ms: int | None
    expires_at: str | None
    sla_ms: int | None
    sla_at: str | None
    assignees: Sequence[str] | None
    excluded: Sequence[str] | None
    skill: str | None
    fallback_ms: int | None


@dataclass(frozen=True)
class Reassigned:
    """How many jobs are for others now, and how many stay because every new worker is excluded from them."""

    changed: int
    refused: int
    #: The new names that have not worked in the queue lately; `None`: that could not be read.
    unseen: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Action:
    """What an operator did in a queue."""

    #: `cancel`, `configure`, `purge`, `reassign`, `redeliver`, `release`, `reprioritize` or `requeue`.
    action: str
    #: The times of its first and its last step.
    began_at: str
    at: str
    #: The name of the operator's key; `None`: the service has no access control.
    by: str | None
    job: str | None
    batch: str | None
    #: How many jobs, or deliveries of a webhook.
    count: int
    #: What the call said apart from its queue and job.
    parameters: Mapping[str, Any]
    #: For `configure`: the `name` of each setting that changed, its value before (`from`) and since (`to`); `None` is the default.
    settings: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class SheetLine:
    """What a worker did on a day. `late` is part of `completed`; `skipped` is no part of `abandoned`."""

    day: str
    #: `None`: all jobs that were reserved without a name.
    worker: str | None
    handed_out: int
    completed: int
    late: int
    skipped: int
    abandoned: int
    expired: int
    failed: int
    undone: int
    handed_over: int
    held_ms: int
    #: For how long at most half, and nine of ten, of the completed jobs were held: estimates. `None` without completions.
    p50_ms: int | None
    p90_ms: int | None


@dataclass(frozen=True)
class Sheets:
    """The day sheets of a queue, by day and worker."""

    #: When counting began; `None`: the queue keeps no sheets.
    since: str | None
    #: Up to when events are counted.
    until: str | None
    #: Where events are missing, each with `from`, `until` and the number of `events`.
    gaps: Sequence[Mapping[str, Any]]
    time_zone: str | None
    lines: Sequence[SheetLine]


@dataclass(frozen=True)
class Queue:
    """A queue with its counts by state, settings and totals."""

    name: str
    counts: Mapping[str, int]
    oldest_waiting_ms: int | None
    settings: Settings
    totals: Mapping[str, int]
    #: For `queue`: the lines of jobs that are not everybody's, `@worker` or `+skill`, each with `waiting` and `oldest_ms`.
    lines: Sequence[Mapping[str, Any]] = ()
