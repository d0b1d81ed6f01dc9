"""One request over a connection that is kept, and what came back. It knows nothing of jobs; a kind of connection does the reading and
writing.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Protocol
from urllib.parse import urlsplit

#: Connections that are kept for the next call.
KEPT = 16
#: Seconds for which a connection is kept, idle or not: by then the name of the service may lead to another address.
AGE = 60.0
#: This service does not answer for that name (RFC 9110, section 15.5.20).
MISDIRECTED = 421
#: Seconds in which a connection breaks that the service had closed before the call.
STALE = 1.0
#: Bytes of lines that are read at once, and one line more.
LINES_BYTES = 4 << 20
#: Seconds between two lines: a blank one says every 15 seconds that the connection is well.
SILENCE = 30.0


class NotSent(Exception):
    """There was no connection, so nothing has happened."""


class Broken(Exception):
    """The connection broke before an answer was there: what has happened is unknown."""


@dataclass(frozen=True)
class Place:
    """Where a service is."""

    host: str
    port: int | None
    #: What each path begins with.
    prefix: str
    #: Whom to trust over TLS; `None`: without TLS.
    context: ssl.SSLContext | None

    @staticmethod
    def of(url: str, context: ssl.SSLContext | None) -> Place:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the url of a service is like https://queue.example")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("the url of a service names a place and nothing else: a key is given as `key`")
        trusted = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        return Place(parts.hostname, parts.port, parts.path.rstrip("/"), trusted)


@dataclass(frozen=True)
class Message:
    method: str
    path: str
    body: bytes | None
    headers: Mapping[str, str]
    #: If not 0, only so many lines of the answer are read.
    lines: int = 0


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes
    #: The lines, without blank ones, of a good answer that was asked for by lines.
    lines: Sequence[bytes] = ()


class Lines:
    """At most `limit` lines of an answer, and LINES_BYTES. A truncated answer yields its complete lines."""

    def __init__(self, limit: int) -> None:
        self.whole: list[bytes] = []
        self._limit = limit
        self._weight = 0

    @property
    def is_full(self) -> bool:
        return len(self.whole) >= self._limit or self._weight >= LINES_BYTES

    def add(self, line: bytes) -> None:
        self._weight += len(line)
        if line.endswith(b"\n") and line.strip():
            self.whole.append(line)


class Connection(Protocol):
    #: The last answer was read to its end, and the service keeps the connection.
    is_fit: bool

    async def exchange(self, message: Message, seconds: float) -> Response:
        """`TimeoutError`: nothing came for this many seconds. `OSError`, `HTTPException`: the connection is no good."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Kept:
    connection: Connection
    since: float

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self.since >= AGE


class Wire:
    """Connections to one service, for any number of calls at once."""

    def __init__(
        self, place: Place, connect: Callable[[Place, float], Awaitable[Connection]], owner: Callable[[], object]
    ) -> None:
        """`connect` raises `NotSent`. `owner`: whose the connections are. Each owner has its own, and leaves those of others alone."""
        self._place = place
        self._connect = connect
        self._owner = owner
        self._is_closed = False
        self._pools: dict[object, Pool] = {}

    async def send(self, message: Message, *, timeout: float, wait: float = 0.0) -> Response:
        """`timeout` is for a connection and for the answer, which may take `wait` longer."""
        message = replace(message, path=self._place.prefix + message.path)
        pool = self._pool()
        kept, began = pool.take(), time.monotonic()
        try:
            if kept:
                try:
                    return await self._exchange(pool, kept, message, timeout + wait)
                except TimeoutError:
                    raise
                except (OSError, HTTPException):
                    # A service closes what was idle for long. What is sent here may be sent again.
                    if time.monotonic() - began > STALE:
                        raise
            fresh = Kept(await self._connect(self._place, timeout), time.monotonic())
            return await self._exchange(pool, fresh, message, timeout + wait)
        except TimeoutError as error:
            raise Broken("no answer came in time") from error
        except NotSent as error:
            raise (Broken(str(error)) if kept else error) from error.__cause__
        except (OSError, HTTPException) as error:
            raise Broken(f"the connection broke ({type(error).__name__})") from error

    def close(self) -> None:
        self._is_closed = True
        self._pool().close()

    def _pool(self) -> Pool:
        """In a child of `fork` the connections are its parent's, too: both would hear what one was answered. So it is with two loops."""
        owner = self._owner()
        if owner not in self._pools:
            for other in list(self._pools):
                if not isinstance(other, asyncio.AbstractEventLoop) or other.is_closed():
                    self._pools.pop(other, None)
        return self._pools.setdefault(owner, Pool())

    async def _exchange(self, pool: Pool, kept: Kept, message: Message, seconds: float) -> Response:
        connection = kept.connection
        try:
            response = await connection.exchange(message, seconds)
        except BaseException:
            connection.close()
            raise
        # What does not serve now may not be what the name leads to by the next call.
        serves = response.status < 500 and response.status != MISDIRECTED
        if self._is_closed or not connection.is_fit or not serves or not pool.keep(kept):
            connection.close()
        return response


class Pool:
    """The connections of one owner that are kept."""

    def __init__(self) -> None:
        self._idle: list[Kept] = []
        self._lock = threading.Lock()

    def take(self) -> Kept | None:
        with self._lock:
            old = [kept for kept in self._idle if kept.is_old]
            self._idle = [kept for kept in self._idle if not kept.is_old]
            kept = self._idle.pop() if self._idle else None
        for gone in old:
            gone.connection.close()
        return kept

    def keep(self, kept: Kept) -> bool:
        with self._lock:
            if kept.is_old or len(self._idle) >= KEPT:
                return False
            self._idle.append(kept)
            return True

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for kept in idle:
            kept.connection.close()
