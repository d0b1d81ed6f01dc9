"""What a form of a job may be: a small part of JSON Schema, read into fields. All else is refused by name, with its place. The service
and the page have the same gate, and all three run one table of cases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ._fit import FORMATS, Field, misfits, unsound
from ._keywords import Fault, bounded, escaped, type_of, wrong
from ._text import written

#: Bytes of a form, properties and options in it, references on the way to a property, and faults that are named.
BYTES, PROPERTIES, OPTIONS, REFERENCES, FAULTS = 16 << 10, 64, 256, 4, 20
#: By the type, the place that has such a schema.
PLACES = {"string": "text", "number": "number", "integer": "number", "boolean": "boolean", "array": "list", "object": "object"}
TYPES = f'{", ".join(PLACES)}, or a list of one of them and "null"'
WAYS = ("enum", "const", "oneOf", "anyOf")
#: As SDKs write names: without characters that a pointer or a URI would escape.
REFERENCE = re.compile(r"#/\$defs/([A-Za-z0-9_.-]+)")


def read_form(schema: Any) -> Field | list[Fault]:
    """The form of a schema; or why it is none, at most twenty places."""
    value = json.loads(json.dumps(schema))  # As it goes out: a tuple is a list, a member's name a text.
    unfit = unsound(value)
    if unfit:
        return [bounded(unfit)]
    if len(written(value)) > BYTES:
        return [Fault("", f"must have at most {BYTES} bytes")]
    gate = Gate(value)
    form = gate.form()
    return form if form and not gate.faults else [bounded(fault) for fault in list(gate.faults)[:FAULTS]]


class Gate:
    def __init__(self, root: Any) -> None:
        #: In the order in which they were found, each once.
        self.faults: dict[Fault, None] = {}
        self._root = root
        self._definitions: dict[str, Any] = {}
        if isinstance(root, dict) and isinstance(root.get("$defs"), dict):
            self._definitions = root["$defs"]
        #: The definitions on the way to this schema.
        self._way: list[str] = []
        self._used: set[str] = set()
        #: The schemas that were checked, so that many references to one cost little.
        self._seen: set[int] = set()
        #: By the schema that has them, so that a definition is counted once.
        self._properties: dict[int, int] = {}
        self._options: dict[int, frozenset[str]] = {}

    def form(self) -> Field | None:
        form = self._field(self._root, "", "form")
        # A definition is read where it is used, so one that is not used would be ignored.
        for name in self._definitions if not self.faults else ():
            if name not in self._used:
                self._refuse(f"/$defs/{escaped(name)}", "a definition must be used by a `$ref`")
        return form

    def _refuse(self, at: str, detail: str) -> Field | None:
        """There is no field then."""
        self.faults[Fault(at, detail)] = None
        return None

    def _field(self, schema: Any, at: str, level: str) -> Field | None:
        """Nothing only after a fault. `level` is where in a form the schema stands: `grouped` is a property of a group."""
        place = self._place(schema, at) if len(self.faults) < FAULTS else None
        if place is None:
            return None
        is_new = id(schema) not in self._seen
        self._seen.add(id(schema))
        if is_new:
            self._check(schema, ("root", place) if schema is self._root else (place,), at)
        refusal = _misplaced(level, place, place == "nullable" or isinstance(schema.get("type"), list))
        if refusal:
            return self._refuse(at, refusal)
        field = self._read(place, schema, at, level)
        if field and is_new and "default" in schema and not self.faults:
            for pointer, detail in misfits(field, schema["default"], f"{at}/default"):
                self._refuse(pointer, f"the default does not fit: {detail}")
        return field

    def _check(self, schema: dict[str, Any], places: Sequence[str], at: str) -> None:
        for name, value in schema.items():
            detail = wrong(name, value, places)
            if detail:
                self._refuse(f"{at}/{escaped(name)}", detail)

    def _place(self, schema: Any, at: str) -> str | None:
        if not isinstance(schema, dict):
            self._refuse(at, "must be a schema, an object")
        elif "$ref" in schema or "allOf" in schema:
            return "reference"
        elif _is_nullable(schema):
            return "nullable"
        elif any(way in schema for way in WAYS):
            return "choice"
        elif "type" not in schema:
            self._refuse(at, "`type` must be there")
        else:
            name, _ = type_of(schema["type"]) or ("", False)
            if name in PLACES:
                return PLACES[name]
            self._refuse(f"{at}/type", f"`type` must be {TYPES}")
        return None

    def _read(self, place: str, schema: dict[str, Any], at: str, level: str) -> Field | None:
        if place == "reference":
            return self._reference(schema, at, level)
        if place == "nullable":
            return self._nullable(schema, at, level)
        name, is_nullable = type_of(schema.get("type")) or ("", False)
        field = Field(name, schema, is_nullable)
        if place == "object":
            return self._object(field, at, level)
        if place == "choice":
            return replace(field, kind="options", options=self._choice(schema, at))
        if place == "list":
            return self._list(field, at)
        if place == "text":
            self._text(schema, at)
        return field

    def _nullable(self, schema: dict[str, Any], at: str, level: str) -> Field | None:
        nulls = [n for n, one in enumerate(schema["anyOf"]) if _is_null(one)]
        if len(nulls) == 2:
            return self._refuse(f"{at}/anyOf", "`anyOf` must have a schema next to null")
        null, inner = nulls[0], 1 - nulls[0]
        self._check(schema["anyOf"][null], ("null",), f"{at}/anyOf/{null}")
        field = self._field(schema["anyOf"][inner], f"{at}/anyOf/{inner}", level)
        return field and replace(field, is_nullable=True)

    def _reference(self, schema: dict[str, Any], at: str, level: str) -> Field | None:
        own, only = f"{at}/$ref", schema
        if "allOf" in schema:
            own, all_of = f"{at}/allOf", schema["allOf"]
            is_one = "$ref" not in schema and isinstance(all_of, list) and len(all_of) == 1
            if not is_one or not isinstance(all_of[0], dict) or list(all_of[0]) != ["$ref"]:
                return self._refuse(own, "`allOf` must be a list of one object that has `$ref` only")
            [only] = all_of
        found = REFERENCE.fullmatch(only["$ref"]) if isinstance(only["$ref"], str) else None
        if not found:
            return self._refuse(own, "`$ref` must be #/$defs/NAME, with a name of A-Z, a-z, 0-9, '.', '_' and '-'")
        name = found[1]
        if name not in self._definitions:
            return self._refuse(own, "`$ref` must name a member of `$defs`")
        if name in self._way:
            return self._refuse(own, "`$ref` must not lead back to itself")
        if len(self._way) == REFERENCES:
            return self._refuse(own, "`$ref` must not be the fifth on the way to a property")
        self._used.add(name)
        self._way.append(name)
        field = self._field(self._definitions[name], f"/$defs/{name}", level)
        self._way.pop()
        return field

    def _object(self, field: Field, at: str, level: str) -> Field | None:
        properties = field.schema.get("properties")
        if "properties" not in field.schema:
            return self._refuse(at, "`properties` must be there: an object without them cannot be drawn")
        named = properties if isinstance(properties, dict) else {}
        self._properties[id(properties)] = len(named)
        if sum(self._properties.values()) > PROPERTIES:
            return self._refuse(f"{at}/properties", f"a form must have at most {PROPERTIES} properties")
        required = field.schema.get("required")
        for n, name in enumerate(required if isinstance(required, list) else ()):
            if isinstance(name, str) and name not in named:
                self._refuse(f"{at}/required/{n}", "`required` must name a property")
        inner = "property" if level == "form" else "grouped"
        read = {name: self._field(one, f"{at}/properties/{escaped(name)}", inner) for name, one in named.items()}
        return replace(field, fields={name: one for name, one in read.items() if one})

    def _choice(self, schema: dict[str, Any], at: str) -> frozenset[str]:
        if id(schema) in self._options:
            return self._options[id(schema)]
        self._options_type(schema, at)
        way, *others = [name for name in WAYS if name in schema]
        if others:
            self._refuse(f"{at}/{others[0]}", f"a choice must have `{way}` or `{others[0]}`, not both")
        at, value = f"{at}/{way}", schema[way]
        values = [value] if way == "const" else value if isinstance(value, list) else []
        options = frozenset(one for one in values if isinstance(one, str)) if way in WAYS[:2] else self._titled(values, at)
        self._options[id(schema)] = options
        if sum(map(len, self._options.values())) > OPTIONS:
            self._refuse(at, f"a form must have at most {OPTIONS} options")
        return options

    def _titled(self, options: list[Any], at: str) -> frozenset[str]:
        values: set[str] = set()
        for n, one in enumerate(options):
            own = f"{at}/{n}"
            if not isinstance(one, dict) or "const" not in one or "title" not in one:
                self._refuse(own, "an option must have `const` and `title`")
                continue
            self._check(one, ("option",), own)
            self._options_type(one, own)
            if isinstance(one["const"], str):
                if one["const"] in values:
                    self._refuse(f"{own}/const", "each option must be there once")
                values.add(one["const"])
        return frozenset(values)

    def _options_type(self, schema: dict[str, Any], at: str) -> None:
        """Options are texts. Null is none of them, so a type with null would promise what no result can have."""
        if schema.get("type", "string") != "string":
            hint = "; for null write `anyOf` of the choice and null" if type_of(schema["type"]) == ("string", True) else ""
            self._refuse(f"{at}/type", f"the `type` of options must be string{hint}")

    def _list(self, field: Field, at: str) -> Field | None:
        if "items" not in field.schema:
            return self._refuse(at, "`items` must be there: a list is drawn as check boxes")
        items = self._field(field.schema["items"], f"{at}/items", "items")
        return items and replace(field, options=items.options)

    def _text(self, schema: dict[str, Any], at: str) -> None:
        name = schema.get("format")
        if isinstance(name, str) and name not in FORMATS:
            self._refuse(f"{at}/format", "`format` must be email, uri, date or date-time")
        if "pattern" in schema:
            self._refuse(f"{at}/pattern", "`pattern` is a keyword of a queue's form only")


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _is_nullable(schema: dict[str, Any]) -> bool:
    schemas = schema.get("anyOf")
    return isinstance(schemas, list) and len(schemas) == 2 and any(map(_is_null, schemas))


def _misplaced(level: str, place: str, is_nullable: bool) -> str | None:
    """Why a schema of this kind may not stand here."""
    if place == "reference":
        return None
    if level == "form" and place != "object":
        return "the `type` of a form must be object"
    if level == "form" and is_nullable:
        return "a form must not be null"
    if level == "grouped" and place == "object":
        return "a group must not have a group"
    if level == "items" and (place != "choice" or is_nullable):
        return "the items of a list must be options: `enum`, or `anyOf` of `const` and `title`"
    return None
