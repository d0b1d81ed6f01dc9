"""Webhooks: whether a delivery is from intray, and what it says. Standard Webhooks 1.0, https://www.standardwebhooks.com."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ._errors import NotGenuine

#: Bytes of a secret.
SECRET_BYTES = range(24, 65)
PREFIX = "whsec_"
DIGITS = re.compile(r"[0-9]{1,12}")


class Headers(Protocol):
    """The headers of a request: a dictionary, or what a web framework makes of them."""

    def items(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True)
class WebhookEvent:
    """What happened. A `repr` shows no data, because the payload and the result are in it."""

    #: The same at each attempt: keep it, and ignore a delivery whose id you have seen.
    id: str
    #: `job.completed`, `job.dead`, `batch.completed` and so on; `intray.test` of a test.
    type: str
    #: When it happened, by the queue's clock (RFC 3339).
    timestamp: str
    #: `queue`, `id`, `state`, `worker`, `payload`, `result` and more; empty in a test.
    data: Mapping[str, Any] = field(repr=False)


def verify(headers: Headers, body: bytes, secrets: str | Sequence[str], tolerance: float = 300) -> WebhookEvent:
    """Reads a delivery of a webhook, if one of the secrets has signed it and it was sent less than `tolerance` seconds ago.

    `body` has the bytes as they came, because the signature is of bytes. `secrets` is one or more, as the webhooks file has them
    (`whsec_…`). Compares in constant time. Raises `NotGenuine`, and `ValueError` for a secret that is none.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("there is no secret to verify with")
    identifier, stamp, signature = (_header(headers, name) for name in ("id", "timestamp", "signature"))
    if not DIGITS.fullmatch(stamp):
        raise NotGenuine("webhook-timestamp is no number of seconds")
    signed = f"{identifier}.{stamp}.".encode("utf-8", "replace") + body
    given = [one[3:].encode("utf-8", "replace") for one in signature.split(" ") if one.startswith("v1,")]
    wanted = [base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys]
    # Each pair is compared, so that the time reveals nothing.
    if not any([hmac.compare_digest(one, other) for one in given for other in wanted]):
        raise NotGenuine("no secret has signed this")
    if abs(time.time() - int(stamp)) > tolerance:
        raise NotGenuine(f"it was not sent within {tolerance:g} seconds of this clock")
    return _event(identifier, body)


def _key(secret: str) -> bytes:
    """The bytes of a secret. No error names it."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or len(key) not in SECRET_BYTES:
        raise ValueError(f"a secret is {PREFIX} and the base64 of 24 to 64 bytes") from None
    return key


def _header(headers: Headers, name: str) -> str:
    name = f"webhook-{name}"
    values = [value for key, value in headers.items() if key.lower() == name]
    if len(values) != 1:
        raise NotGenuine(f"there is no {name}, or more than one")
    return values[0]


def _event(identifier: str, body: bytes) -> WebhookEvent:
    try:
        event = json.loads(body)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("data"), dict):
        raise NotGenuine("the body is no event of intray")
    return WebhookEvent(identifier, str(event.get("type")), str(event.get("timestamp")), event["data"])
