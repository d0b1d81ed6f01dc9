"""What stories on an event loop look at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from intray_client import AsyncIntray
from intray_client._wire import Message, Response
from world import Story


def sockets() -> list[str]:
    """The sockets of this process that are connected or listen."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            link = str(descriptor.readlink())
        except OSError:
            continue
        if link.startswith("socket:"):
            links.append(link)
    return sorted(links)


class Underway:
    """Counts the calls of a client that wait for an end of a job."""

    def __init__(self, intray: AsyncIntray) -> None:
        self.count = 0
        send = intray._caller.io.send

        async def counted(message: Message, **how: Any) -> Response:
            is_wait = "wait_ms=30000" in message.path
            self.count += is_wait
            try:
                return await send(message, **how)
            finally:
                self.count -= is_wait

        patched: Any = intray._caller.io
        patched.send = counted


class OnALoop(Story):
    async def soon(self, is_so: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + 20
        while not is_so():
            self.assertLess(loop.time(), end, "never")
            await asyncio.sleep(0.01)

    def connections(self) -> int:
        """Connections to the service, as the system counts them at its end."""
        port = int(self.service.url.rsplit(":", 1)[1])
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)
