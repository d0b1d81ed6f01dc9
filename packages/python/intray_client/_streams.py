"""Connections on an event loop. Requests are written, and the heads of answers read, by `http.client`, as where calls block."""

from __future__ import annotations

import asyncio
import socket
from http.client import HTTPConnection, HTTPException, HTTPResponse
from io import BytesIO
from typing import cast

from ._wire import SILENCE, Lines, Message, NotSent, Place, Response

#: Bytes of a body that are read at once.
PIECE = 64 << 10

Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connect(place: Place, seconds: float) -> StreamConnection:
    """Not by `wait_for`: where a time-out and a cancellation meet, it swallows one of them, or loses the connection."""
    port = place.port or (443 if place.context else 80)
    opening = asyncio.ensure_future(asyncio.open_connection(place.host, port, ssl=place.context))
    try:
        await asyncio.wait({opening}, timeout=seconds)
    except BaseException:
        _give_up(opening)
        raise
    if not opening.done():
        _give_up(opening)
        raise NotSent("there is no connection (TimeoutError)")
    try:
        return StreamConnection(place, *opening.result())
    except OSError as error:
        raise NotSent(f"there is no connection ({type(error).__name__})") from error


def _give_up(opening: asyncio.Future[Opened]) -> None:
    def close(opened: asyncio.Future[Opened]) -> None:
        if not opened.cancelled() and not opened.exception():
            opened.result()[1].transport.abort()

    opening.cancel()
    opening.add_done_callback(close)


class StreamConnection:
    def __init__(self, place: Place, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.is_fit = False
        self._place = place
        self._reader = reader
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_late = False

    async def exchange(self, message: Message, seconds: float) -> Response:
        self.is_fit = False
        try:
            self._allow(seconds)
            self._writer.write(written(message, self._place))
            await self._writer.drain()
            return await self._answer(message.lines, seconds)
        except (OSError, EOFError, asyncio.LimitOverrunError, HTTPException, ValueError) as error:
            if self._is_late:
                raise TimeoutError("nothing came in time") from error
            if isinstance(error, (OSError, HTTPException)):
                raise
            raise HTTPException(type(error).__name__) from error
        finally:
            self._allow(None)

    def close(self) -> None:
        self._writer.transport.abort()

    def _allow(self, seconds: float | None) -> None:
        """Closes the connection after this many seconds, unless this is called again."""
        if self._timer:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        self._is_late = True
        self.close()

    async def _answer(self, limit: int, seconds: float) -> Response:
        head = await self._head()
        headers = {name.lower(): value for name, value in head.getheaders()}
        body = Body(self._reader, head)
        if limit and 200 <= head.status < 300:
            return Response(head.status, headers, b"", await self._lines(body, limit))
        pieces = []
        self._allow(seconds)
        while piece := await body.piece():
            pieces.append(piece)
            self._allow(seconds)
        if self._is_late:
            raise EOFError
        self.is_fit = body.is_over and not head.will_close
        return Response(head.status, headers, b"".join(pieces))

    async def _head(self) -> HTTPResponse:
        """An interim answer (RFC 9110, section 15.2) is passed over."""
        while True:
            text = await self._reader.readuntil(b"\r\n\r\n")
            if text[9:10] != b"1":
                break
        head = HTTPResponse(cast(socket.socket, _Text(text)))
        head.begin()
        return head

    async def _lines(self, body: Body, limit: int) -> list[bytes]:
        lines, rest = Lines(limit), b""
        try:
            while not lines.is_full:
                self._allow(SILENCE)
                piece = await body.piece()
                if not piece:
                    self.is_fit = body.is_over and not self._is_late
                    break
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    if not lines.is_full:
                        lines.add(line + b"\n")
        except (OSError, EOFError, ValueError):
            if not lines.whole:
                raise
        return lines.whole


class Body:
    """The bytes of an answer: as many as `Content-Length` says, by chunks, or until the connection ends (RFC 9112, section 6.3)."""

    def __init__(self, reader: asyncio.StreamReader, head: HTTPResponse) -> None:
        self._reader = reader
        self._is_chunked = bool(head.chunked)
        #: Bytes to come, of the body or of this chunk. `None`: unknown.
        self._left = 0 if self._is_chunked else head.length
        self.is_over = not self._is_chunked and self._left == 0

    async def piece(self) -> bytes:
        """The next bytes; none: it is over."""
        if self._is_chunked and not self.is_over and not self._left:
            await self._begin_chunk()
        if self.is_over:
            return b""
        if self._left is None:
            return await self._reader.read(PIECE)
        piece = await self._reader.read(min(PIECE, self._left))
        if not piece:
            raise EOFError
        self._left -= len(piece)
        if self._is_chunked and not self._left:
            await self._reader.readexactly(2)
        self.is_over = not self._is_chunked and not self._left
        return piece

    async def _begin_chunk(self) -> None:
        size = await self._reader.readuntil(b"\n")
        self._left = int(size.split(b";")[0].strip(), 16)
        if self._left:
            return
        while (await self._reader.readuntil(b"\n")).strip():
            pass  # A trailer.
        self.is_over = True


class _Text:
    """What `HTTPResponse` reads the head of an answer from."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def makefile(self, mode: str) -> BytesIO:
        return BytesIO(self._text)


class _Request(HTTPConnection):
    """Writes a request into memory."""

    def __init__(self, place: Place) -> None:
        if place.context:
            self.default_port = 443
        super().__init__(place.host, place.port)
        self.parts: list[bytes] = []

    def connect(self) -> None: ...

    def send(self, data: bytes) -> None:  # type: ignore[override]
        self.parts.append(data)


def written(message: Message, place: Place) -> bytes:
    request = _Request(place)
    request.request(message.method, message.path, message.body, dict(message.headers))
    return b"".join(request.parts)
