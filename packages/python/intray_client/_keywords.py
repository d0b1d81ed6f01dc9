"""The one table of keywords, as the service and the page have it: name, where it may stand, and what its value must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Bytes of a pointer, and characters of a detail and of a keyword in it. A longer pointer ends at the value around.
POINTER, DETAIL, SHOWN = 512, 200, 40


class Fault(NamedTuple):
    """One place that is wrong."""

    #: A JSON pointer (RFC 6901), into the form or into the result.
    pointer: str
    #: The rule. It has no part of a result.
    detail: str


#: Places by their names in a sentence. `root` is a place besides the one that the whole form has.
PLACES = {
    "root": "the whole form",
    "object": "an object",
    "text": "a text",
    "choice": "a choice",
    "option": "an option",
    "number": "a number",
    "boolean": "a boolean",
    "list": "a list of options",
    "reference": "a reference",
    "nullable": "`anyOf` of a schema and null",
    "null": "null",
}
FIELDS = ("object", "text", "choice", "number", "boolean", "list", "reference", "nullable")
LABELLED = (*FIELDS, "option")
TYPED = ("object", "text", "choice", "option", "number", "boolean", "list", "null")


def type_of(value: Any) -> tuple[str, bool] | None:
    """The type that a schema names, and whether null is one too."""
    if isinstance(value, str):
        return value, False
    names = [name for name in value if name != "null"] if isinstance(value, list) and len(value) == 2 else []
    return (names[0], True) if len(names) == 1 and isinstance(names[0], str) else None


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value) and len(set(value)) == len(value)


VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (lambda value: type_of(value) is not None, 'must be the name of a type, or a list of one and "null"'),
    "text": (lambda value: isinstance(value, str), "must be a text"),
    "dialect": (lambda value: value == DIALECT, f"must be {DIALECT}"),
    "count": (lambda value: is_number(value) and value >= 0 and value == int(value), "must be a whole number, at least 0"),
    "number": (is_number, "must be a number"),
    "positive": (lambda value: is_number(value) and value > 0, "must be a number above 0"),
    "boolean": (lambda value: isinstance(value, bool), "must be true or false"),
    "texts": (_is_texts, "must be a list of texts, each once"),
    "options": (lambda value: _is_texts(value) and len(value) > 0, "must be a list of texts, at least one and each once"),
    "schema": (lambda value: isinstance(value, dict), "must be an object that is a schema"),
    "schemas": (lambda value: isinstance(value, list) and len(value) > 0, "must be a list of schemas, at least one"),
    "named": (lambda value: isinstance(value, dict), "must be an object of schemas"),
    "list": (lambda value: isinstance(value, list), "must be a list"),
    "anything": (lambda value: True, "may be anything"),
}

KEYWORDS: dict[str, tuple[Sequence[str], str]] = {
    "type": (TYPED, "type"),
    "properties": (("object",), "named"),
    "required": (("object",), "texts"),
    "additionalProperties": (("object",), "boolean"),
    "title": (LABELLED, "text"),
    "description": (LABELLED, "text"),
    "default": (FIELDS, "anything"),
    "enum": (("choice",), "options"),
    "const": (("choice", "option"), "text"),
    "oneOf": (("choice",), "schemas"),
    "anyOf": (("choice", "nullable"), "schemas"),
    "format": (("text",), "text"),
    "minLength": (("text",), "count"),
    "maxLength": (("text",), "count"),
    "pattern": (("text",), "text"),
    "minimum": (("number",), "number"),
    "maximum": (("number",), "number"),
    "exclusiveMinimum": (("number",), "number"),
    "exclusiveMaximum": (("number",), "number"),
    "multipleOf": (("number",), "positive"),
    "items": (("list",), "schema"),
    "minItems": (("list",), "count"),
    "maxItems": (("list",), "count"),
    "uniqueItems": (("list",), "boolean"),
    "$ref": (("reference",), "text"),
    "allOf": (("reference",), "schemas"),
    "$defs": (("root",), "named"),
    "$schema": (("root",), "dialect"),
    "$id": (("root",), "text"),
    "$comment": (LABELLED, "text"),
    "examples": (LABELLED, "list"),
    "deprecated": (LABELLED, "boolean"),
    "readOnly": (LABELLED, "boolean"),
}


def wrong(name: str, value: Any, places: Sequence[str]) -> str | None:
    """Why a schema at these places may not have this member."""
    if name not in KEYWORDS:
        return f"`{name[:SHOWN]}` is not a keyword of a form"
    allowed, kind = KEYWORDS[name]
    if not any(place in places for place in allowed):
        elsewhere = "other schemas" if len(allowed) > 2 else " or ".join(PLACES[place] for place in allowed)
        return f"`{name}` is not a keyword of {PLACES[places[-1]]}, only of {elsewhere}"
    takes, rule = VALUES[kind]
    return None if takes(value) else f"`{name}` {rule}"


def escaped(name: str) -> str:
    """A step of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def bounded(fault: Fault) -> Fault:
    pointer = ""
    for step in fault.pointer.split("/")[1:]:
        if len(f"{pointer}/{step}".encode("utf-8", "replace")) > POINTER:
            break
        pointer = f"{pointer}/{step}"
    return Fault(pointer, fault.detail[:DETAIL])
