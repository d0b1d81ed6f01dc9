"""One request over a connection that is kept, and what came back. It knows nothing of jobs."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

#: Connections that are kept for the next call.
KEPT = 16
#: Bytes of lines that are read at once, and one line more.
LINES_BYTES = 4 << 20
#: Seconds between two lines: a blank one says every 15 seconds that the connection is well.
SILENCE = 30.0


class NotSent(Exception):
    """There was no connection, so nothing has happened."""


class Broken(Exception):
    """The connection broke before an answer was there: nobody knows what has happened."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes
    #: Of a good answer that was asked for by lines, those that are not blank.
    lines: Sequence[bytes] = ()


class Wire:
    """Connections to one service, for any number of threads."""

    def __init__(self, url: str, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the url of a service is like https://queue.example")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("the url of a service names a place and nothing else: a key is given as `key`")
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._is_closed = False
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        timeout: float,
        wait: float = 0.0,
        lines: int = 0,
    ) -> Answer:
        """`timeout` is for a connection and for the answer, which may take `wait` longer. `lines`: so many of them are read."""
        connection = self._kept()
        is_kept = connection is not None

        def exchange(connection: HTTPConnection) -> Answer:
            connection.sock.settimeout(timeout + wait)
            return self._exchange(connection, method, self._prefix + path, body, headers, lines)

        try:
            if connection:
                try:
                    return exchange(connection)
                except TimeoutError:
                    raise
                except (OSError, HTTPException):
                    pass  # A service closes what was idle for long. What is sent here may be sent again.
            return exchange(self._connect(timeout))
        except TimeoutError as error:
            raise Broken("no answer came in time") from error
        except NotSent as error:
            raise (Broken(str(error)) if is_kept else error) from error.__cause__
        except (OSError, HTTPException) as error:
            raise Broken(f"the connection broke ({type(error).__name__})") from error

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _forget(self) -> None:
        self._idle, self._lock, self._process = [], threading.Lock(), os.getpid()

    def _kept(self) -> HTTPConnection | None:
        if self._process != os.getpid():
            self._forget()  # This is a child, and they are its parent's: both would hear what one was answered.
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _connect(self, timeout: float) -> HTTPConnection:
        connection = (
            HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
            if self._context
            else HTTPConnection(self._host, self._port, timeout=timeout)
        )
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NotSent(f"there is no connection ({type(error).__name__})") from error
        return connection

    def _exchange(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        lines: int,
    ) -> Answer:
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            if lines and 200 <= response.status < 300:
                if connection.sock is not None:
                    connection.sock.settimeout(SILENCE)
                answer = Answer(response.status, _lower(response), b"", _lines(response, lines))
            else:
                answer = Answer(response.status, _lower(response), response.read())
        except BaseException:
            connection.close()
            raise
        self._keep(connection, response)
        return answer

    def _keep(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        with self._lock:
            if response.isclosed() and not response.will_close and not self._is_closed and len(self._idle) < KEPT:
                self._idle.append(connection)
                return
        connection.close()


def _lower(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _lines(response: HTTPResponse, most: int) -> list[bytes]:
    """Up to so many, and so many bytes. Of an answer that breaks off, the whole lines before."""
    lines: list[bytes] = []
    weight = 0
    try:
        while len(lines) < most and weight < LINES_BYTES:
            line = response.readline()
            if not line:
                break
            weight += len(line)
            if line.endswith(b"\n") and line.strip():
                lines.append(line)
    except (OSError, HTTPException):
        if not lines:
            raise
    return lines
