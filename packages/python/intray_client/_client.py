"""The client class."""

from __future__ import annotations

import ssl
from types import TracebackType

from ._batches import Batches
from ._caller import Caller, Key
from ._operator import Operator
from ._producer import Producer
from ._worker import Worker


class Intray(Producer, Batches, Worker, Operator):
    """An intray service, for producers, for programs that work and for operators. Any number of threads may share one.

    `key`: an API key or a token; or a function that gives one, which is asked again when the service has refused what it gave.
    `timeout`: seconds for a connection, and for an answer beyond what it was asked to wait.
    `retry_for`: seconds for which a call is tried again, before it is `Unavailable`. Without it producers' calls, which may be
    part of a web request, have 5, and consumers' 120; a script that has time passes 120.
    `context`: whom to trust over TLS, if not those whom the machine trusts.
    """

    def __init__(
        self,
        url: str,
        *,
        key: Key = None,
        timeout: float = 15.0,
        retry_for: float | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._url = url
        self._caller = Caller(url, key, timeout, retry_for, context)

    def __repr__(self) -> str:
        return f"Intray({self._url!r})"

    def close(self) -> None:
        """Closes the pooled connections."""
        self._caller.close()

    def __enter__(self) -> Intray:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
