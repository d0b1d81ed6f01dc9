"""A call of the service, made again until there is an answer or no patience left. Every call of this package may be made again:
what makes something new has an idempotency key, and everything else counts once however often it is said.
"""

from __future__ import annotations

import json
import logging
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from ._errors import Applied, IntrayError, Unavailable, is_final, refusal
from ._wire import Answer, Broken, NotSent, Wire

log = logging.getLogger("intray_client")

Key = str | Callable[[], str] | None

#: Seconds before the second try, and the longest before any.
FIRST, LONGEST = 0.2, 10.0
#: Bytes of a header that holds a key or a token, as the service takes them.
KEY_BYTES = 8 << 10


class Stopped(IntrayError):
    """The `stop` of the call was set before there was an answer."""


class Caller:
    def __init__(self, url: str, key: Key, timeout: float, retry_for: float, context: ssl.SSLContext | None) -> None:
        self._wire = Wire(url, timeout, context)
        self._key = key
        self._known: str | None = None if callable(key) else _checked(key)
        self._retry_for = retry_for

    def close(self) -> None:
        self._wire.close()

    @staticmethod
    def weight(item: Any) -> int:
        """Bytes of it in a body."""
        return len(_text(item)) + 1

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
        wait: float = 0.0,
        stop: threading.Event | None = None,
        retry_for: float | None = None,
        passing: Callable[[Any], Problem | None] = lambda value: None,
    ) -> Any:
        """The answer's JSON. `wait`: the service may think about it for so many seconds. `key`: makes repeating it safe.
        `passing`: what of a good answer is to be asked for again.
        """
        address = path + ("?" + urlencode(query, quote_via=quote) if query else "")
        sent = None if body is None else _text(body)
        headers = {} if sent is None else {"content-type": "application/json"}
        if key is not None:
            headers["idempotency-key"] = key
        end = time.monotonic() + (self._retry_for if retry_for is None else retry_for)
        applied: Applied = False
        tries = 0
        while True:
            if stop is not None and stop.is_set():
                raise Stopped("stopped before there was an answer")
            problem = self._try(method, address, sent, headers, wait, passing)
            if isinstance(problem, Good):
                return problem.value
            applied = "unknown" if "unknown" in (applied, problem.applied) else False
            pause = _pause(tries, problem.retry_after)
            if time.monotonic() + pause > end:
                raise Unavailable(problem.said, applied)
            tries += 1
            log.info("%s %s: %s; tried again in %.1f s", method, path.split("/")[1], problem.said, pause)
            _sleep(pause, stop)

    def _try(
        self,
        method: str,
        address: str,
        body: bytes | None,
        headers: Mapping[str, str],
        wait: float,
        passing: Callable[[Any], Problem | None],
    ) -> Good | Problem:
        try:
            answer = self._send(method, address, body, headers, wait)
        except NotSent as error:
            return Problem(str(error), False)
        except Broken as error:
            return Problem(str(error), "unknown")
        if 200 <= answer.status < 300:
            try:
                value = json.loads(answer.body)
            except ValueError:
                return Problem("the answer is not of intray", "unknown")
            return passing(value) or Good(value)
        said = _problem(answer)
        if is_final(said):
            raise refusal(said)
        return passes(said, _seconds(answer))

    def _send(self, method: str, address: str, body: bytes | None, headers: Mapping[str, str], wait: float) -> Answer:
        """A key that a function gave is asked for anew when it is refused, once."""
        was = self._known
        answer = self._wire.send(method, address, body, {**headers, **self._authorization(was)}, wait)
        if answer.status == 401 and callable(self._key):
            answer = self._wire.send(method, address, body, {**headers, **self._authorization(None)}, wait)
        return answer

    def _authorization(self, known: str | None) -> dict[str, str]:
        if known is None and callable(self._key):
            known = self._known = _checked(self._key())
        return {} if known is None else {"authorization": f"Bearer {known}"}


class Good:
    def __init__(self, value: Any) -> None:
        self.value = value


class Problem:
    """An answer that passes, or none."""

    def __init__(self, said: str, applied: Applied, retry_after: float | None = None) -> None:
        self.said, self.applied, self.retry_after = said, applied, retry_after


def passes(said: Mapping[str, Any], retry_after: float | None = None) -> Problem:
    """Whoever is told to come later was refused before anything was done."""
    nothing = said.get("applied") is False or said["status"] in (408, 429, 507)
    if "retry_after_ms" in said:
        retry_after = float(said["retry_after_ms"]) / 1_000
    detail = said.get("detail") or said.get("title") or "not in the words of intray"
    return Problem(f"the answer was {said['status']}: {detail}", False if nothing else "unknown", retry_after)


def _checked(key: str | None) -> str | None:
    """An error of the library below would show what it does not like."""
    if key is None:
        return None
    if not key or len(key) > KEY_BYTES or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("a key or a token is printable ASCII without blanks, of at most 8 KiB")
    return key


def _text(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _problem(answer: Answer) -> dict[str, Any]:
    """Whatever stands between may answer too, with a page of its own."""
    try:
        said = json.loads(answer.body)
    except ValueError:
        said = None
    return {**(said if isinstance(said, dict) else {}), "status": answer.status}


def _seconds(answer: Answer) -> float | None:
    after = answer.headers.get("retry-after", "")
    return float(after) if after.isdecimal() else None


def _pause(tries: int, retry_after: float | None) -> float:
    """Up to half as long again, so that not all callers come back at once, and never sooner than was said."""
    pause = min(LONGEST, FIRST * 2 ** min(tries, 10)) if retry_after is None else retry_after
    return pause * (1 + random.random() / 2)


def _sleep(seconds: float, stop: threading.Event | None) -> None:
    if stop is None:
        time.sleep(seconds)
    else:
        stop.wait(seconds)
