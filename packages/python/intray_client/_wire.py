"""One request over a connection that is kept, and what came back. It knows nothing of jobs."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

#: Connections that are kept for the next call.
KEPT = 16


class NotSent(Exception):
    """There was no connection, so nothing has happened."""


class Broken(Exception):
    """The connection broke before an answer was there: nobody knows what has happened."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """Connections to one service, for any number of threads."""

    def __init__(self, url: str, timeout: float, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the url of a service is like https://queue.example")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("the url of a service names a place and nothing else: a key is given as `key`")
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._timeout = timeout
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], wait: float) -> Answer:
        """`wait` is how long the answer may take beyond what any call may."""
        connection = self._kept()
        is_kept = connection is not None
        try:
            if connection:
                try:
                    return self._exchange(connection, method, path, body, headers, wait)
                except TimeoutError:
                    raise
                except (OSError, HTTPException):
                    pass  # A service closes what was idle for long. What is sent here may be sent again.
            return self._exchange(self._connect(), method, path, body, headers, wait)
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

    def _kept(self) -> HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _connect(self) -> HTTPConnection:
        connection = (
            HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
            if self._context
            else HTTPConnection(self._host, self._port, timeout=self._timeout)
        )
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NotSent(f"there is no connection ({type(error).__name__})") from error
        return connection

    def _exchange(
        self, connection: HTTPConnection, method: str, path: str, body: bytes | None, headers: Mapping[str, str], wait: float
    ) -> Answer:
        try:
            connection.sock.settimeout(self._timeout + wait)
            connection.request(method, self._prefix + path, body, dict(headers))
            response = connection.getresponse()
            answer = Answer(response.status, _lower(response), response.read())
        except BaseException:
            connection.close()
            raise
        self._keep(connection, response)
        return answer

    def _keep(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        with self._lock:
            if not response.will_close and not self._is_closed and len(self._idle) < KEPT:
                self._idle.append(connection)
                return
        connection.close()


def _lower(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}
