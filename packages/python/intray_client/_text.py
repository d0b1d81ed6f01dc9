"""Texts on their way to the service and back. Every text of Python can be sent, half characters too."""

from __future__ import annotations

import json
from typing import Any


def written(body: Any) -> bytes:
    """JSON. The only text that UTF-8 has no bytes for is half a surrogate pair, and its escape is that of JSON: `\\ud83d`."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def value_of(body: bytes) -> Any:
    """`ValueError`: this is no JSON."""
    try:
        try:
            return json.loads(body)
        except ValueError:
            return json.loads(body, parse_int=_number)  # Python refuses integers of more than 4,300 digits
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < 640 else float(digits)


def cut(text: Any, limit: int) -> str:
    """The first bytes of a text, up to `limit`, cut at a character boundary. A half character becomes U+FFFD."""
    start = str(text)[:limit]
    whole = start.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.encode()[:limit].decode("utf-8", "ignore")


def cut_front(text: str, limit: int) -> str:
    """The last lines of a text that fit into `limit` bytes."""
    last = cut(text, 4 * len(text)).encode()
    if len(last) <= limit:
        return last.decode()
    return last[-limit:].decode("utf-8", "ignore").partition("\n")[2]
