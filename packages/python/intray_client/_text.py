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


def cut(text: Any, most: int) -> str:
    """Of a text the first so many bytes, at the border of a character. A half character becomes U+FFFD."""
    start = str(text)[:most]
    whole = start.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.encode()[:most].decode("utf-8", "ignore")


def cut_front(text: str, most: int) -> str:
    """Of a text the last lines that have room in so many bytes."""
    last = cut(text, 4 * len(text)).encode()
    if len(last) <= most:
        return last.decode()
    return last[-most:].decode("utf-8", "ignore").partition("\n")[2]
