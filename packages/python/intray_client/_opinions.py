"""Several opinions: equal jobs of a batch, each answered by another person, and what most of them say."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from ._caller import Caller
from ._models import Batch, NewJob, Result, read
from ._producer import fresh_key

if TYPE_CHECKING:
    from typing_extensions import Unpack

INDEX = re.compile("0|[1-9][0-9]*")


class Opinion(TypedDict, total=False):
    """What each job may say besides its payload; see `NewJob`."""

    delay_ms: int
    run_at: str
    lease_ms: int
    max_attempts: int
    backoff: Mapping[str, Any]
    expires_ms: int
    expires_at: str
    sla_ms: int
    sla_at: str
    assignees: Sequence[str]
    skill: str
    fallback_ms: int
    excluded: Sequence[str]


class Opinions:
    _caller: Caller

    async def opinions(
        self,
        queue: str,
        payload: Any,
        *,
        people: int = 3,
        key: str | None = None,
        priority: int | None = None,
        client: str | None = None,
        retry_for: float | None = None,
        **job: Unpack[Opinion],
    ) -> Batch:
        """Asks `people` people, 2 to 9, and none of them twice: a batch of equal jobs. Retries make one batch.

        With a `key` of yours, the same call is one batch, in whichever process; another payload under that key is refused.
        """
        about = {"queue": queue, "overlap": people, "priority": priority, "client": client}
        body = {name: value for name, value in about.items() if value is not None}
        body["job"] = NewJob(payload, **job).body()
        key = fresh_key() if key is None else key
        return read(Batch, await self._caller.call("POST", "/batches", body, key=key, retry_for=retry_for))


def agreement(results: Iterable[Result], pointer: str = "") -> tuple[Any, int]:
    """The value that most results have there, and how many have it; `(None, 0)` if none has one.

    `pointer`: a JSON pointer (RFC 6901) into each result, like `/verdict`; `""` is the whole result. Only completed jobs have a vote,
    and those whose result has a value there. On a tie it is the value that came first, in the order of the results, so compare the
    number with what you need. Values are compared as JSON: `1` and `1.0` are equal, `1` and `true` are not.
    `ValueError`: that is no JSON pointer.
    """
    path = _path(pointer)
    votes: dict[Hashable, tuple[Any, int]] = {}
    for one in results:
        for value in _find(one.result, path) if one.state == "completed" else []:
            first, count = votes.get(_as_key(value), (value, 0))
            votes[_as_key(value)] = (first, count + 1)
    return max(votes.values(), key=lambda vote: vote[1], default=(None, 0))


def _path(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/") or re.search("~(?![01])", pointer):
        raise ValueError(f"{pointer!r} is no JSON pointer: it is empty or begins with /, and ~ is written ~0, / in a name ~1")
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]


def _find(value: Any, path: list[str]) -> list[Any]:
    """The value there, or none; a job that was completed without a result has none."""
    if value is None and not path:
        return []
    for name in path:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return []
    return [value]


def _as_key(value: Any) -> Hashable:
    """Equal for values that are equal in JSON, where true is no number."""
    if isinstance(value, dict):
        return ("object", frozenset((name, _as_key(each)) for name, each in value.items()))
    if isinstance(value, list):
        return ("array", tuple(_as_key(each) for each in value))
    return ("boolean" if isinstance(value, bool) else "plain", value)
