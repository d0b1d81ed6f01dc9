"""Which connections are used again: the name of a service may lead to another address by the next call."""

from __future__ import annotations

import unittest
from unittest import mock

from intray_client._blocking import run
from intray_client._wire import AGE, Message, Place, Response, Wire


class Stub:
    """A connection that is answered with a status."""

    is_fit = True

    def __init__(self, status: int) -> None:
        self.status = status
        self.is_closed = False

    async def exchange(self, message: Message, seconds: float) -> Response:
        return Response(self.status, {}, b"")

    def close(self) -> None:
        self.is_closed = True


class KeptConnections(unittest.TestCase):
    def setUp(self) -> None:
        self.opened: list[Stub] = []
        self.status = 200
        self.wire = Wire(Place("queue.example", None, "", None), self.connect, lambda: 1)

    async def connect(self, place: Place, seconds: float) -> Stub:
        self.opened.append(Stub(self.status))
        return self.opened[-1]

    def send(self) -> None:
        run(self.wire.send(Message("GET", "/livez", None, {}), timeout=1))

    def test_connection_serves_calls_that_are_answered(self) -> None:
        for status in (200, 404, 409, 422, 429):
            with self.subTest(status):
                self.setUp()
                self.status = status
                self.send()
                self.send()
                self.assertEqual(len(self.opened), 1)

    def test_connection_ends_with_an_answer_of_no_service(self) -> None:
        for status in (421, 500, 502, 503, 504):
            with self.subTest(status):
                self.setUp()
                self.status = status
                self.send()
                self.send()
                self.assertEqual([stub.is_closed for stub in self.opened], [True, True])

    def test_connection_is_not_used_after_a_minute(self) -> None:
        self.assertLessEqual(AGE, 60)
        with mock.patch("intray_client._wire.time.monotonic") as now:
            for now.return_value in (0.0, AGE - 1, AGE, AGE + 1):
                self.send()
            self.assertEqual([stub.is_closed for stub in self.opened], [True, False])
