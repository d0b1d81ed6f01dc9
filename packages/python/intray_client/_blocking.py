"""Calls on the thread of their caller. Here a coroutine never waits for an event loop: all that it awaits blocks, and then it is done."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from functools import wraps
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from ._io import Event, Io
from ._wire import SILENCE, Lines, Message, NotSent, Place, Response, Wire

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def run(call: Awaitable[T]) -> T:
    """The result of a call whose `Io` is a `BlockingIo`."""
    steps = call.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return cast(T, end.value)
    raise RuntimeError("a call that blocks has waited for an event loop")


def each(values: AsyncIterator[T]) -> Iterator[T]:
    """The same of an iterator."""
    while True:
        try:
            value = run(values.__anext__())
        except StopAsyncIteration:
            return
        yield value


def blocking(call: Callable[Concatenate[S, P], Awaitable[T]]) -> Callable[Concatenate[S, P], T]:
    """The method that runs a coroutine."""

    @wraps(call)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(call(self, *args, **kwargs))

    return method


def sleep(seconds: float, stop: Event | None) -> None:
    if stop is None:
        time.sleep(seconds)
    else:
        cast(threading.Event, stop).wait(seconds)


class BlockingIo(Io):
    def __init__(self, place: Place) -> None:
        self.wire = Wire(place, connect, os.getpid)

    async def send(self, message: Message, *, timeout: float, wait: float) -> Response:
        return await self.wire.send(message, timeout=timeout, wait=wait)

    async def sleep(self, seconds: float, stop: Event | None) -> None:
        sleep(seconds, stop)

    def event(self) -> threading.Event:
        return threading.Event()

    def start(self, background: Coroutine[Any, Any, None], name: str) -> Callable[[], None]:
        try:
            threading.Thread(target=run, args=(background,), name=name, daemon=True).start()
        except RuntimeError:
            background.close()
            raise
        return lambda: None

    def check(self, function: Any) -> None:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
            raise TypeError(f"{getattr(function, '__name__', function)} is a coroutine function: give it to AsyncIntray")

    async def outcome(self, value: Any) -> Any:
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError("the function answered a coroutine, which Intray does not run: give it to AsyncIntray")
        return value

    async def close(self) -> None:
        self.wire.close()


async def connect(place: Place, seconds: float) -> BlockingConnection:
    connection = (
        HTTPSConnection(place.host, place.port, timeout=seconds, context=place.context)
        if place.context
        else HTTPConnection(place.host, place.port, timeout=seconds)
    )
    try:
        connection.connect()
    except OSError as error:
        connection.close()
        raise NotSent(f"there is no connection ({type(error).__name__})") from error
    return BlockingConnection(connection)


class BlockingConnection:
    def __init__(self, connection: HTTPConnection) -> None:
        self.is_fit = False
        self._connection = connection

    async def exchange(self, message: Message, seconds: float) -> Response:
        self.is_fit = False
        self._connection.sock.settimeout(seconds)
        self._connection.request(message.method, message.path, message.body, dict(message.headers))
        response = self._connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        if message.lines and 200 <= response.status < 300:
            if self._connection.sock is not None:
                self._connection.sock.settimeout(SILENCE)
            answer = Response(response.status, headers, b"", _lines(response, message.lines))
        else:
            answer = Response(response.status, headers, response.read())
        self.is_fit = response.isclosed() and not response.will_close
        return answer

    def close(self) -> None:
        self._connection.close()


def _lines(response: HTTPResponse, limit: int) -> list[bytes]:
    lines = Lines(limit)
    try:
        while not lines.is_full and (line := response.readline()):
            lines.add(line)
    except (OSError, HTTPException):
        if not lines.whole:
            raise
    return lines.whole
