"""A call of the service, made again until there is an answer or no patience left. Every call of this package may be made again:
what makes something new has an idempotency key, and every other call counts once however often it is sent.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from ._errors import Applied, IntrayError, Unavailable, is_final, is_own, is_refused_on_the_way, refusal
from ._io import Event, Io
from ._patience import SHUT_TRIES, Problem, header_seconds, not_of_intray, passes, pause
from ._text import value_of, written
from ._wire import Broken, Message, NotSent, Response

log = logging.getLogger("intray_client")

Key = str | Callable[[], str] | None
#: On an event loop the function may be a coroutine function.
AsyncKey = str | Callable[[], str] | Callable[[], Awaitable[str]] | None

#: Seconds for which a call is tried again: for a producer, which may be a web request, and for a program that works.
PRODUCER, CONSUMER = 5.0, 120.0
#: Seconds in which one try may end however little patience is left, and bytes of a body that take a second more.
SHORTEST_TRY, BYTES_A_SECOND = 1.0, 1_000_000
#: Seconds between two checks whether other calls succeed again.
LOOK = 0.25
#: Bytes of a header that holds a key or a token, as the service takes them.
KEY_BYTES = 8 << 10


class Stopped(IntrayError):
    """The `stop` event of the call was set before an answer arrived."""


class Good:
    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True)
class Request:
    method: str
    address: str
    body: bytes | None
    headers: Mapping[str, str]
    #: Seconds that the service may take to answer.
    wait: float
    #: If not 0, the answer is lines of JSON instead of one value, and this many are read.
    lines: int
    #: The problem for which a good answer is asked for again, if any.
    passing: Callable[[Any], Problem | None]

    def until(self, end: float) -> Request:
        """With a wait that is over by then, and that the query says."""
        wait = max(0.0, min(self.wait, end - time.monotonic()))
        return replace(self, wait=wait, address=f"{self.address}?wait_ms={int(wait * 1_000)}")


class Caller:
    def __init__(self, io: Io, key: AsyncKey, timeout: float, retry_for: float | None) -> None:
        self.io = io
        self._timeout = timeout
        self._key = key
        self._known: str | None = None if callable(key) else _checked(key)
        self._answers = 0
        #: Seconds for which calls of producers are tried again, and those of consumers.
        self.retry_for = PRODUCER if retry_for is None else retry_for
        self.patience = CONSUMER if retry_for is None else retry_for

    @staticmethod
    def weight(item: Any) -> int:
        """Bytes of it in a body."""
        return len(written(item)) + 1

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
        wait: float = 0.0,
        stop: Event | None = None,
        retry_for: float | None = None,
        waits_out: bool = False,
        lines: int = 0,
        passing: Callable[[Any], Problem | None] = lambda value: None,
        until: float | None = None,
    ) -> Any:
        """The answer's JSON. `wait`: how long the service may take for it, in seconds. `key`: makes repeating it safe.
        `waits_out`: what a proxy refuses is tried again for as long as anything else that passes. `lines`: the answer is a list
        of at most this many lines. `passing`: the problem for which a good answer is asked for again, if any.
        `until`: by then each try has waited, so a late one waits less; the call has no `query`.
        """
        address = path + ("?" + urlencode(query, doseq=True, errors="surrogatepass", quote_via=quote) if query else "")
        sent = None if body is None else written(body)
        request = Request(method, address, sent, _headers(sent, key, lines), wait, lines, passing)
        end = time.monotonic() + (self.retry_for if retry_for is None else retry_for)
        applied: Applied = False
        tries = shut = 0
        while True:
            if stop is not None and stop.is_set():
                raise Stopped("stopped before there was an answer")
            sent_now = request if until is None else request.until(until)
            outcome = await self._try(sent_now, end - time.monotonic())
            if isinstance(outcome, Good):
                return outcome.value
            applied = "unknown" if "unknown" in (applied, outcome.applied) else False
            shut += outcome.is_shut
            left = end - time.monotonic()
            soonest, latest = pause(tries, outcome, left)
            if latest > left or (outcome.is_shut and shut >= SHUT_TRIES and not waits_out):
                raise refusal(outcome.refused) if outcome.refused else Unavailable(outcome.summary, applied, outcome.is_foreign)
            tries += 1
            level = logging.WARNING if outcome.is_shut else logging.INFO
            log.log(level, "%s %s: %s; tried again in %.1f s", method, path.split("/")[1], outcome.summary, latest)
            await self._rest(soonest, latest, stop)

    async def _rest(self, soonest: float, latest: float, stop: Event | None) -> None:
        """Until `latest`, or, when another call got a good answer meanwhile, not much longer than until `soonest`."""
        answers, start = self._answers, time.monotonic()
        await self.io.sleep(soonest, stop)
        while (left := start + latest - time.monotonic()) > 0 and self._answers == answers:
            if stop is not None and stop.is_set():
                return
            await self.io.sleep(min(left, LOOK), stop)

    async def _try(self, request: Request, left: float) -> Good | Problem:
        try:
            answer = await self._send(request, left)
        except NotSent as error:
            return Problem(str(error), False)
        except Broken as error:
            return Problem(str(error), "unknown")
        if 200 <= answer.status < 300:
            try:
                value = [value_of(line) for line in answer.lines] if request.lines else value_of(answer.body)
            except ValueError:
                return not_of_intray()
            self._answers += 1
            return request.passing(value) or Good(value)
        problem = _problem(answer)
        if is_final(problem):
            raise refusal(problem)
        if is_refused_on_the_way(problem):
            return Problem(f"refused on the way with {answer.status}", False, is_foreign=True, is_shut=True, refused=problem)
        return passes(problem, header_seconds(answer.headers.get("retry-after", "")))

    async def _send(self, request: Request, left: float) -> Response:
        """A key that a function gave is asked for again when it is refused, once. No try takes much longer than is left."""
        patience = max(SHORTEST_TRY, left) + len(request.body or b"") / BYTES_A_SECOND
        timeout = min(self._timeout, patience)
        answer = await self._sent(request, self._known, timeout)
        if answer.status == 401 and callable(self._key):
            answer = await self._sent(request, None, timeout)
        return answer

    async def _sent(self, request: Request, known: str | None, timeout: float) -> Response:
        headers = {**request.headers, **await self._authorization(known)}
        message = Message(request.method, request.address, request.body, headers, request.lines)
        return await self.io.send(message, timeout=timeout, wait=request.wait)

    async def _authorization(self, known: str | None) -> dict[str, str]:
        if known is None and callable(self._key):
            self.io.check(self._key)
            given = self._key()
            known = self._known = _checked(await given if inspect.isawaitable(given) else given)
        return {} if known is None else {"authorization": f"Bearer {known}"}


def _checked(key: str | None) -> str | None:
    """Hides the value that the library's own error would show."""
    if key is None:
        return None
    if not key or len(key) > KEY_BYTES or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("a key or a token is printable ASCII without blanks, of at most 8 KiB")
    return key


def _headers(body: bytes | None, key: str | None, lines: int) -> dict[str, str]:
    headers = {} if body is None else {"content-type": "application/json"}
    if lines:
        headers["accept"] = "application/x-ndjson"
    if key is not None:
        if not key.isascii() or not key.isprintable():
            raise ValueError("an idempotency key is printable ASCII, of at most 256 bytes")
        headers["idempotency-key"] = key
    return headers


def in_path(text: str) -> str:
    """A part of a path. Half a character goes as it is, and it is for the service to refuse it."""
    return quote(text, safe="", errors="surrogatepass")


def _problem(answer: Response) -> dict[str, Any]:
    """What stands between may answer too, with a page of its own; nothing of that is shown, for it may repeat what was sent."""
    try:
        problem = value_of(answer.body)
    except ValueError:
        problem = None
    if isinstance(problem, dict) and is_own(problem):
        return {**problem, "status": answer.status}
    return {"status": answer.status, "title": "not in the words of intray"}

