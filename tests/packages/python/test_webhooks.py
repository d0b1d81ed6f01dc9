"""`verify`, against the reference library and against forgeries."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import pickle
import secrets
import subprocess
import time
import unittest
from collections.abc import Sequence
from email.message import Message
from pathlib import Path
from typing import Any
from unittest.mock import patch

from intray_client import IntrayError, NotGenuine, WebhookEvent, verify

HERE = Path(__file__).parent
#: The reference library is a tool of these tests: where the package is installed there is nothing else.
REFERENCE = (HERE.parent / "generated/tools/bin/python", HERE / "reference.py")
VECTORS = json.loads((HERE.parent / "webhook_vectors.json").read_text())
EVENT = {"type": "job.completed", "timestamp": "2026-11-21T09:18:21.900Z", "data": {"id": "q-1", "result": {"verdict": "größer"}}}
BODY = json.dumps(EVENT, ensure_ascii=False)


def reference(call: str, **given: Any) -> str:
    ran = subprocess.run([*REFERENCE, call], input=json.dumps(given), capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def fresh(size: int = 32) -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(size)).decode()


def signed(keys: Sequence[str], body: str = BODY, at: int | str | None = None, id: str = "msg_1") -> dict[str, str]:
    """The headers of a delivery, as the service makes them."""
    stamp = str(int(time.time()) if at is None else at)
    text = f"{id}.{stamp}.{body}".encode()
    digests = [hmac.new(base64.b64decode(key[6:]), text, hashlib.sha256).digest() for key in keys]
    signature = " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)
    return {"webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": signature}


class Verify(unittest.TestCase):
    def refuses(self, headers: Any, body: str = BODY, keys: Any = None, **more: Any) -> str:
        with self.assertRaises(NotGenuine) as caught:
            verify(headers, body.encode(), keys or self.key, **more)
        return str(caught.exception)

    def setUp(self) -> None:
        self.key = fresh()
        self.headers = signed([self.key])

    def test_genuine_delivery_is_read(self) -> None:
        event = verify(self.headers, BODY.encode(), self.key)
        self.assertEqual(event, WebhookEvent("msg_1", EVENT["type"], EVENT["timestamp"], EVENT["data"]))  # type: ignore[arg-type]
        self.assertNotIn("größer", repr(event))

    def test_signature_of_the_reference_library_is_genuine(self) -> None:
        for vector in VECTORS:
            each = {name: vector[name] for name in ("id", "timestamp", "body")}
            given = " ".join(reference("sign", secret=secret, **each) for secret in vector["secrets"])
            self.assertEqual(given, vector["signature"])
            self.assertEqual(signed(vector["secrets"], vector["body"], vector["timestamp"], vector["id"])["webhook-signature"], given)
            headers = {"webhook-id": vector["id"], "webhook-timestamp": str(vector["timestamp"]), "webhook-signature": given}
            with patch("time.time", lambda: vector["timestamp"] + 1.5):
                for secret in vector["secrets"]:
                    event = verify(headers, vector["body"].encode(), secret)
                    self.assertEqual(event.data, json.loads(vector["body"])["data"])

    def test_reference_library_accepts_the_same_and_no_more(self) -> None:
        old, new, other = fresh(24), fresh(64), fresh()
        headers = signed([new, old])
        for key, is_genuine in ((old, True), (new, True), (other, False)):
            self.assertEqual(reference("verify", secret=key, headers=headers, body=BODY), str(is_genuine))
            if is_genuine:
                self.assertEqual(verify(headers, BODY.encode(), key).id, "msg_1")
            else:
                self.refuses(headers, keys=key)
        # While a secret changes, the receiver may have two and the service one.
        self.assertEqual(verify(signed([old]), BODY.encode(), [new, old]).type, "job.completed")

    def test_changed_delivery_is_not_genuine(self) -> None:
        self.refuses(self.headers, BODY + " ")
        self.refuses(self.headers, "")
        for name in self.headers:
            self.refuses({**self.headers, name: self.headers[name] + "0"})
            self.refuses({**self.headers, name: ""})
            self.refuses({key: value for key, value in self.headers.items() if key != name})
        signature = self.headers["webhook-signature"]
        for wrong in (signature[3:], "v1," + signature, f"v1a{signature[2:]}", "v1,ä", "v1,", f"v2{signature[2:]}", "\udcff"):
            self.refuses({**self.headers, "webhook-signature": wrong})
        self.assertTrue(verify({**self.headers, "webhook-signature": f"v1a,x v1, {signature}"}, BODY.encode(), self.key))

    def test_old_and_early_deliveries_are_not_genuine(self) -> None:
        now = 1_795_252_529
        with patch("time.time", lambda: now + 0.5):
            for away, is_genuine in ((-300, True), (300, True), (-302, False), (302, False)):
                headers = signed([self.key], at=now + away)
                if is_genuine:
                    verify(headers, BODY.encode(), self.key, tolerance=301)
                else:
                    self.assertIn("300 seconds", self.refuses(headers))
            verify(signed([self.key], at=now - 900), BODY.encode(), self.key, tolerance=1_000)
        for wrong in ("now", "-1", "1e9", "١", "9" * 400, " 1"):
            self.refuses(signed([self.key], at=wrong))

    def test_headers_may_be_of_any_framework(self) -> None:
        verify({name.title(): value for name, value in self.headers.items()}, BODY.encode(), self.key)
        message = Message()
        for name, value in self.headers.items():
            message[name] = value
        verify(message, BODY.encode(), self.key)
        message["Webhook-Id"] = "msg_2"
        self.refuses(message)

    def test_invalid_secret_is_refused_unseen(self) -> None:
        valid = base64.b64encode(b"0123456789abcdef01234567").decode()
        for wrong in (valid, "whsec_", f"whsec_{valid[:28]}", f"whsec_{valid}!", f"whsec_{'A' * 88}", f"whsec_{valid[:-1]}ä", ""):
            with self.assertRaises(ValueError) as caught:
                verify(self.headers, BODY.encode(), [self.key, wrong])
            self.assertNotIn(valid[:20], str(caught.exception))
        with self.assertRaises(ValueError):
            verify(self.headers, BODY.encode(), [])

    def test_signed_body_that_is_no_event_is_refused(self) -> None:
        for body in ("", "{", "[]", "7", "{}", '{"data":7}'):
            self.assertIn("no event", self.refuses(signed([self.key], body), body))

    def test_every_signature_is_compared_in_constant_time(self) -> None:
        with patch("hmac.compare_digest", wraps=hmac.compare_digest) as compared:
            verify(signed([self.key, fresh()]), BODY.encode(), [fresh(), self.key])
        self.assertEqual(compared.call_count, 4)

    def test_not_genuine_is_an_error_of_the_package(self) -> None:
        error = pickle.loads(pickle.dumps(NotGenuine("x")))
        self.assertIsInstance(error, IntrayError)
        self.assertEqual(str(error), "x")
