"""The client whose calls block: each runs the coroutine of its name."""

from __future__ import annotations

import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

from ._ask import Asking
from ._batches import Batches
from ._blocking import BlockingIo, each, run
from ._caller import Caller, Key
from ._feed import Feed, OnForgotten
from ._operator import Operator
from ._opinions import Opinions
from ._producer import Producer
from ._reserved import Reserved
from ._wire import Place
from ._worker import Worker

P = ParamSpec("P")
T = TypeVar("T")


class Calls(Producer[threading.Event], Asking, Batches, Opinions, Worker[threading.Event, Reserved], Operator):
    """All calls, as coroutines that never wait for an event loop."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._reserved = Reserved


def blocking(call: Callable[Concatenate[Calls, P], Awaitable[T]]) -> Callable[Concatenate[Intray, P], T]:
    @wraps(call)
    def method(self: Intray, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(call(self._calls, *args, **kwargs))

    return method


def iterating(call: Callable[Concatenate[Calls, P], AsyncIterator[T]]) -> Callable[Concatenate[Intray, P], Iterator[T]]:
    @wraps(call)
    def method(self: Intray, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return each(call(self._calls, *args, **kwargs))

    return method


class Intray:
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
        self._caller = Caller(BlockingIo(Place.of(url, context)), key, timeout, retry_for)
        self._calls = Calls(self._caller)

    def __repr__(self) -> str:
        return f"Intray({self._url!r})"

    def close(self) -> None:
        """Closes the pooled connections."""
        run(self._caller.io.close())

    def __enter__(self) -> Intray:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    ask = blocking(Calls.ask)

    enqueue = blocking(Calls.enqueue)
    enqueue_many = blocking(Calls.enqueue_many)
    job = blocking(Calls.job)
    wait = blocking(Calls.wait)
    cancel = blocking(Calls.cancel)
    token = blocking(Calls.token)

    create_batch = blocking(Calls.create_batch)
    opinions = blocking(Calls.opinions)
    batch = blocking(Calls.batch)
    batches = iterating(Calls.batches)
    wait_batch = blocking(Calls.wait_batch)
    results = iterating(Calls.results)
    cancel_batch = blocking(Calls.cancel_batch)

    reserve = blocking(Calls.reserve)
    consume = blocking(Calls.consume)

    queues = iterating(Calls.queues)
    queue = blocking(Calls.queue)
    settings = blocking(Calls.settings)
    configure = blocking(Calls.configure)
    pause = blocking(Calls.pause)
    resume = blocking(Calls.resume)
    jobs = iterating(Calls.jobs)
    mine = iterating(Calls.mine)
    dead = iterating(Calls.dead)
    requeue = blocking(Calls.requeue)
    requeue_all = blocking(Calls.requeue_all)
    purge = blocking(Calls.purge)
    forget_queue = blocking(Calls.forget_queue)
    release = blocking(Calls.release)
    change = blocking(Calls.change)
    recent_workers = blocking(Calls.recent_workers)
    reassign = blocking(Calls.reassign)
    reprioritize_all = blocking(Calls.reprioritize_all)
    release_all = blocking(Calls.release_all)
    actions = iterating(Calls.actions)
    sheets = blocking(Calls.sheets)
    worker_summary = blocking(Calls.worker_summary)
    forget_worker = blocking(Calls.forget_worker)

    def feed(
        self,
        queue: str,
        *,
        after: str | None = None,
        client: str | None = None,
        follow: bool = True,
        every: float = 1.0,
        stop: threading.Event | None = None,
        forgotten: OnForgotten = "raise",
    ) -> Feed:
        of = self._calls.feed(
            queue, after=after, client=client, follow=follow, every=every, stop=stop, forgotten=forgotten
        )
        return Feed(of)

    feed.__doc__ = Calls.feed.__doc__
