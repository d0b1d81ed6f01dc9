"""Whether a value is what a form asks for, by the rules of the service. A form of a job has no `pattern`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from ipaddress import IPv6Address
from math import inf, isfinite
from typing import Any

from ._keywords import Fault, escaped, is_number

#: How deep objects and lists may be nested.
DEPTH = 127
#: How many items a list may have.
ITEMS = 256
HALF = "must not have one half of a surrogate pair alone"
BEYOND = "must be a number that a double holds"


@dataclass(frozen=True)
class Field:
    """A schema that the gate has let through. `kind` is its type, or `options`."""

    kind: str
    schema: Mapping[str, Any]
    is_nullable: bool
    #: The fields of an object.
    fields: Mapping[str, Field] = field(default_factory=dict)
    #: The options of a choice, and of a list of them.
    options: frozenset[str] = frozenset()


def unsound(value: Any, at: str = "", depth: int = 0) -> Fault | None:
    """The fault for which the service refuses a value before it looks at a form."""
    if isinstance(value, str):
        return None if _is_whole(value) else Fault(at, HALF)
    if is_number(value):
        return None if _is_double(value) else Fault(at, BEYOND)
    if not isinstance(value, (dict, list)):
        return None
    if depth == DEPTH:
        return Fault("", "is nested too deep")
    members: Iterable[tuple[str, Any]] = value.items() if isinstance(value, dict) else ((str(n), item) for n, item in enumerate(value))
    for name, item in members:
        found = unsound(item, f"{at}/{escaped(name)}", depth + 1) if _is_whole(name) else Fault(at, HALF)
        if found:
            return found
    return None


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_double(number: float) -> bool:
    try:
        return isfinite(number)
    except OverflowError:
        return False


def misfits(form: Field, value: Any, at: str = "") -> Iterator[Fault]:
    """Where a sound value does not fit, in the order of the form."""
    if value is None and form.is_nullable:
        return
    if form.kind == "object":
        yield from _object(form, value, at)
    elif form.kind == "array":
        yield from _list(form, value, at)
    else:
        rules = {"options": _option, "string": _text, "boolean": _boolean}.get(form.kind, _number)
        yield from (Fault(at, detail) for detail in rules(form, value))


def _object(form: Field, value: Any, at: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(at, "must be an object")
        return
    for name, own in form.fields.items():
        if name in value:
            yield from misfits(own, value[name], f"{at}/{escaped(name)}")
        elif name in form.schema.get("required", ()):
            yield Fault(f"{at}/{escaped(name)}", "must be there")
    if form.schema.get("additionalProperties") is False:
        others = (name for name in value if name not in form.fields)
        yield from (Fault(f"{at}/{escaped(name)}", "must not be there: the form does not have it") for name in others)


def _list(form: Field, value: Any, at: str) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield Fault(at, "must be a list")
        return
    if len(value) > ITEMS:
        yield Fault(at, f"must have at most {ITEMS} items")
        return
    yield from (Fault(at, detail) for detail in _length(form.schema, len(value), "Items", "items"))
    seen: set[str] = set()
    for n, item in enumerate(value):
        yield from (Fault(f"{at}/{n}", detail) for detail in _option(form, item))
        if isinstance(item, str):
            if form.schema.get("uniqueItems") and item in seen:
                yield Fault(f"{at}/{n}", "must not be there twice")
            seen.add(item)


def _length(schema: Mapping[str, Any], count: int, of: str, unit: str) -> Iterator[str]:
    if count < schema.get(f"min{of}", 0):
        yield f"must have at least {schema[f'min{of}']} {unit}"
    if count > schema.get(f"max{of}", count):
        yield f"must have at most {schema[f'max{of}']} {unit}"


def _option(form: Field, value: Any) -> Iterator[str]:
    if not isinstance(value, str) or value not in form.options:
        count = len(form.options)
        yield "must be the form's only option" if count == 1 else f"must be one of the form's {count} options"


def _text(form: Field, value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield "must be a text"
        return
    yield from _length(form.schema, len(value), "Length", "characters")
    if "format" in form.schema:
        holds, rule = FORMATS[form.schema["format"]]
        if not holds(value):
            yield rule


def _boolean(form: Field, value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        yield "must be true or false"


def _number(form: Field, value: Any) -> Iterator[str]:
    is_whole = form.kind == "integer"
    if not is_number(value) or is_whole and not float(value).is_integer():
        yield "must be a whole number" if is_whole else "must be a number"
        return
    number = float(value)  # All numbers are compared as doubles.
    limits = {name: float(limit) for name, limit in form.schema.items() if is_number(limit)}
    for name, is_crossed, words in (
        ("minimum", number < limits.get("minimum", number), "at least"),
        ("maximum", number > limits.get("maximum", number), "at most"),
        ("exclusiveMinimum", number <= limits.get("exclusiveMinimum", -inf), "greater than"),
        ("exclusiveMaximum", number >= limits.get("exclusiveMaximum", inf), "less than"),
        ("multipleOf", "multipleOf" in limits and not is_multiple(number, limits["multipleOf"]), "a multiple of"),
    ):
        if is_crossed:
            yield f"must be {words} {form.schema[name]}"


def is_multiple(number: float, step: float) -> bool:
    """Exact in decimals, each the shortest that reads as its double: 19.99 is a multiple of 0.01."""
    return Fraction(repr(number)) % Fraction(repr(step)) == 0


#: As HTML defines it: https://html.spec.whatwg.org/#valid-e-mail-address
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})*")
#: RFC 3986 with a host of letters, digits, `.`, `_` and `-`, or an IPv6 address, and without a user.
_PART = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/{}-]|%[0-9A-Fa-f]{{2}})*"
_HOST = r"(?:[A-Za-z0-9._-]+|\[(?P<six>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]*))?"
_AFTER = rf"(?:/{_PART.format('')})?(?:\?{_PART.format('?')})?(?:#{_PART.format('?')})?"
_URI = re.compile(f"[Hh][Tt][Tt][Pp][Ss]?://{_HOST}{_AFTER}")
_DATE = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MINUTES = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = re.compile(rf"{_MINUTES}:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-]{_MINUTES})")


def _is_uri(text: str) -> bool:
    parts = _URI.fullmatch(text)
    if not parts:
        return False
    port = (parts["port"] or "").lstrip("0")
    try:
        IPv6Address(parts["six"] or "::")
    except ValueError:
        return False
    return len(port) <= 5 and int(port or 0) <= 65_535


def _is_date(text: str) -> bool:
    parts = _DATE.fullmatch(text)
    try:
        return parts is not None and bool(date(*map(int, parts.groups())))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, _, time = text.partition("T")
    return _is_date(day) and _TIME.fullmatch(time) is not None


#: Each with its rule.
FORMATS: dict[str, tuple[Callable[[str], bool], str]] = {
    "email": (lambda text: _EMAIL.fullmatch(text) is not None, "must be an e-mail address"),
    "uri": (_is_uri, "must be an http or https address without a user"),
    "date": (_is_date, "must be a day that exists, as YYYY-MM-DD"),
    "date-time": (_is_date_time, "must be a time with an offset, as 2026-01-31T12:00:00Z"),
}
