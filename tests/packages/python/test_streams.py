"""What comes over the connections of an event loop: framing, silence, TLS."""

from __future__ import annotations

import asyncio
import re
import shutil
import ssl
import subprocess
import tempfile
import unittest
from http.client import HTTPException
from pathlib import Path
from typing import Any

from intray_client import AsyncIntray, Unavailable
from intray_client._streams import connect
from intray_client._wire import Message, Place

ANSWER = b'{"id":"q-1","queue":"q","state":"waiting","duplicate":false}'


class Served(unittest.TestCase):
    """Answers as HTTP allows them, byte by byte."""

    def exchange(self, answers: list[bytes], lines: int = 0, keeps: bool = True, seconds: float = 20) -> Any:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                for answer in answers:
                    await reader.readuntil(b"\r\n\r\n")
                    for byte in answer:
                        writer.write(bytes([byte]))
                        await writer.drain()
                await asyncio.sleep(20 if keeps else 0)
            except (ConnectionError, EOFError, asyncio.CancelledError):
                pass
            finally:
                writer.close()

        async def main() -> Any:
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            connection = await connect(Place("127.0.0.1", port, "", None), 5)
            try:
                return [
                    (answer.status, answer.body, list(answer.lines), connection.is_fit)
                    for answer in [await connection.exchange(Message("GET", "/", None, {}, lines), seconds) for _ in answers]
                ]
            finally:
                connection.close()
                server.close()

        return asyncio.run(main())

    def test_bodies_are_read_by_their_framing(self) -> None:
        counted = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
        chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nx: y\r\n\r\n"
        early = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + counted
        nothing = b"HTTP/1.1 204 No Content\r\n\r\n"
        answers = self.exchange([counted, chunked, early, nothing, counted])
        self.assertEqual(answers, [(200, b"{}", [], True)] * 3 + [(204, b"", [], True), (200, b"{}", [], True)])

    def test_connection_that_ends_is_not_kept(self) -> None:
        to_end = b"HTTP/1.0 200 OK\r\n\r\n{}"
        self.assertEqual(self.exchange([to_end], keeps=False), [(200, b"{}", [], False)])
        closed = b"HTTP/1.1 503 Away\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"
        self.assertEqual(self.exchange([closed]), [(503, b"{}", [], False)])

    def test_answer_that_breaks_off_is_none(self) -> None:
        for answer in (
            b"",
            b"HTTP/1.1 200 OK\r\ncontent-le",
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nsoon\r\n{}\r\n",
            b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nx: " + b"x" * 200_000 + b"\r\n\r\n{}",
        ):
            with self.assertRaises((HTTPException, OSError)):
                self.exchange([answer], keeps=False)

    def test_silence_is_a_timeout(self) -> None:
        for answer in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", b"HTTP/1.0 200 OK\r\n\r\n{}"):
            with self.assertRaises(TimeoutError):
                self.exchange([answer], seconds=0.2)

    def test_lines_are_read_as_they_come(self) -> None:
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        whole = head + b"3\r\n1\n\n\r\n4\r\n2\n3\n\r\n1\r\n4\r\n0\r\n\r\n"
        self.assertEqual(self.exchange([whole], lines=9), [(200, b"", [b"1\n", b"2\n", b"3\n"], True)])
        self.assertEqual(self.exchange([whole], lines=2), [(200, b"", [b"1\n", b"2\n"], False)])
        broken = head + b"3\r\n1\n2\r\n"
        self.assertEqual(self.exchange([broken], lines=9, keeps=False), [(200, b"", [b"1\n"], False)])
        with self.assertRaises((HTTPException, OSError)):
            self.exchange([head], lines=9, keeps=False)


class Trusting(unittest.TestCase):
    """TLS, with a certificate of its own."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="intray-tls-"))
        self.addCleanup(shutil.rmtree, self.folder)
        names = {"keyout": self.folder / "key", "out": self.folder / "certificate"}
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
            + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
            + [part for name, path in names.items() for part in (f"-{name}", str(path))],
            check=True,
            capture_output=True,
        )

    def ask(self, context: ssl.SSLContext | None) -> list[str]:
        heads: list[str] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for _ in range(2):
                heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
                await reader.readexactly(int(re.findall(r"content-length: (\d+)", heads[-1].lower())[0]))
                writer.write(b"HTTP/1.1 201 Created\r\ncontent-length: %d\r\n\r\n" % len(ANSWER) + ANSWER)

        async def main() -> None:
            own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            own.load_cert_chain(self.folder / "certificate", self.folder / "key")
            server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=own)
            port = server.sockets[0].getsockname()[1]
            try:
                async with AsyncIntray(f"https://127.0.0.1:{port}/queue", context=context, retry_for=0) as intray:
                    for _ in range(2):
                        self.assertEqual((await intray.enqueue("q", 1)).id, "q-1")
            finally:
                server.close()

        asyncio.run(main())
        return heads

    def test_trusted_service_is_asked_over_one_connection(self) -> None:
        context = ssl.create_default_context(cafile=str(self.folder / "certificate"))
        heads = self.ask(context)
        self.assertEqual([head.splitlines()[0] for head in heads], ["POST /queue/jobs HTTP/1.1"] * 2)

    def test_service_that_is_not_trusted_gets_nothing(self) -> None:
        with self.assertRaises(Unavailable) as caught:
            self.ask(None)
        self.assertIs(caught.exception.applied, False)
