"""What the calls of this package need of the program around them: to send, to rest, to do something in the background. Every call is written
once, as a coroutine. `Intray` runs it to its end on the thread of its caller, `AsyncIntray` on an event loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from ._wire import Message, Response


class Event(Protocol):
    """What `threading.Event` and `asyncio.Event` have in common."""

    def is_set(self) -> bool: ...

    def set(self) -> None: ...


class Io(ABC):
    @abstractmethod
    async def send(self, message: Message, *, timeout: float, wait: float) -> Response:
        """Raises `NotSent` and `Broken`."""

    @abstractmethod
    async def sleep(self, seconds: float, stop: Event | None) -> None:
        """Until the time is over or the event is set."""

    @abstractmethod
    def event(self) -> Event: ...

    @abstractmethod
    def start(self, background: Coroutine[Any, Any, None], name: str) -> Callable[[], None]:
        """Begins something that runs during the call, and answers what ends it. `RuntimeError`: there is no room for it."""

    @abstractmethod
    def check(self, function: Any) -> None:
        """`TypeError`: the program's own function is of a kind that this client cannot run."""

    @abstractmethod
    async def outcome(self, value: Any) -> Any:
        """What the program's own function came to, if it is a coroutine function."""

    @abstractmethod
    async def close(self) -> None: ...
