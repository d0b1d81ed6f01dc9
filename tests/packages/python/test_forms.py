"""What may be the form of a question and what fits it, by the cases that the service and the page run too."""

from __future__ import annotations

import json
import re
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from intray_client._fit import FORMATS, Field, misfits, unsound
from intray_client._gate import FAULTS, read_form
from intray_client._keywords import KEYWORDS, PLACES, POINTER, VALUES, Fault, bounded

TESTS = Path(__file__).parents[2]
CASES = json.loads((TESTS / "forms" / "cases.json").read_text())
PAGE = TESTS.parent / "docs" / "forms.md"
OF_A_QUEUE = "`pattern` is a keyword of a queue's form only"


class NoValue(ValueError):
    """A text that no value of Python is written as, so none can be given."""


def once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(members)) < len(members):
        raise NoValue("a member stands twice")
    return dict(members)


def refuse(constant: str) -> None:
    raise NoValue(constant)


def values(*texts: str) -> Iterator[Any]:
    """Those of the texts that have one."""
    for text in texts:
        try:
            yield json.loads(text, object_pairs_hook=once, parse_constant=refuse)
        except ValueError:
            pass


def faults(form: Field, value: Any) -> list[Fault]:
    unfit = unsound(value)
    return [bounded(fault) for fault in ([unfit] if unfit else misfits(form, value))][:FAULTS]


class Cases(unittest.TestCase):
    def read(self, schema: Any) -> Field:
        form = read_form(schema)
        assert isinstance(form, Field), form
        return form

    def test_results_fit_as_the_service_says(self) -> None:
        fitting = unfit = 0
        for case in CASES["forms"]:
            with self.subTest(case["name"]):
                if case.get("queue_only"):
                    found = read_form(case["form"])
                    assert isinstance(found, list)
                    self.assertEqual({fault.detail for fault in found}, {OF_A_QUEUE})
                    continue
                form = self.read(case["form"])
                for value in values(*case["valid"]):
                    self.assertEqual(faults(form, value), [], value)
                    fitting += 1
                for wrong in case["invalid"]:
                    for value in values(wrong["result"]):
                        found = faults(form, value)
                        self.assertEqual(list(dict.fromkeys(fault.pointer for fault in found)), wrong["pointers"], wrong["result"])
                        self.assertTrue(all(len(fault.pointer.encode()) <= POINTER for fault in found))
                        unfit += 1
        self.assertTrue(fitting > 80 and unfit > 100, (fitting, unfit))

    def test_other_schemas_are_refused_by_name(self) -> None:
        refused = 0
        for case in CASES["refused"]:
            for schema in values(case["form"]):
                with self.subTest(case["name"]):
                    found = read_form(schema)
                    assert isinstance(found, list), "it is taken"
                    details = [fault.detail for fault in found if fault.pointer == case["pointer"]]
                    self.assertTrue(any(case["detail_contains"] in detail or detail == OF_A_QUEUE for detail in details), found)
                    self.assertLessEqual(len(found), FAULTS)
                    refused += 1
        self.assertGreater(refused, 110)

    def test_formats_are_those_of_the_service(self) -> None:
        self.assertEqual(CASES["formats"].keys(), FORMATS.keys())
        for name, texts in CASES["formats"].items():
            holds, _ = FORMATS[name]
            self.assertEqual([text for text in texts["valid"] if not holds(text)], [], name)
            self.assertEqual([text for text in texts["invalid"] if holds(text)], [], name)

    def test_keywords_are_those_of_the_page(self) -> None:
        rows = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+?) \|", PAGE.read_text().split("| keyword |")[1], re.MULTILINE)

        def where(places: Any) -> str:
            if len(places) <= 2:
                return ", ".join(PLACES[place] for place in places)
            return "all but " + ", ".join(name for place, name in PLACES.items() if place not in places)

        own = [(name, where(places), VALUES[kind][1]) for name, (places, kind) in KEYWORDS.items()]
        self.assertEqual(own, rows)

    def test_any_value_in_any_place_is_read_or_refused(self) -> None:
        group = {"type": "object", "properties": {"o": {"$ref": "#/$defs/O"}}, "required": ["o"], "default": {"o": "a"}}
        labels = {"type": ["array", "null"], "items": {"anyOf": [{"const": "x", "title": "X"}]}, "maxItems": 2, "default": ["x"]}
        number = {"anyOf": [{"type": "integer", "minimum": 1, "default": 2}, {"type": "null"}]}
        text = {"type": "string", "format": "date", "maxLength": 10, "default": "2026-01-31"}
        properties = {"g": group, "l": labels, "n": number, "t": text, "r": {"allOf": [{"$ref": "#/$defs/O"}]}}
        whole = {"type": "object", "required": ["g"], "properties": properties, "$defs": {"O": {"enum": ["a"]}}}

        self.read(whole)

        def places(node: Any, *way: Any) -> Iterator[tuple[Any, ...]]:
            yield way
            members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
            for name, one in members:
                yield from places(one, *way, name)

        read = []
        for *way, last in list(places(whole))[1:]:
            for value in (None, 7, -1, 1e300, "", "x", "null", [], [None], {}, {"properties": None}, True):
                form = json.loads(json.dumps(whole))
                node = form
                for step in way:
                    node = node[step]
                node[last] = value
                read.append(isinstance(read_form(form), Field))
        self.assertTrue(len(read) > 300 and 10 < sum(read) < len(read) / 2, (len(read), sum(read)))

    def test_values_of_python_are_read_as_they_are_sent(self) -> None:
        def at(schema: Any) -> list[str]:
            found = read_form({"type": "object", "properties": {"a": schema}})
            return [fault.pointer for fault in found] if isinstance(found, list) else []

        self.assertEqual(at({"enum": ("x", "y")}), [])
        self.assertEqual(at({"enum": ("x", "x")}), ["/properties/a/enum"])
        self.assertEqual(at({"type": "number", "minimum": float("inf")}), ["/properties/a/minimum"])
        self.assertEqual(at({"type": "number", "minimum": float("nan")}), ["/properties/a/minimum"])
        self.assertEqual(at({"type": "number", "maximum": 10**400}), ["/properties/a/maximum"])
        self.assertEqual(at({"type": "string", "title": "half \ud83d"}), ["/properties/a/title"])
        self.assertEqual(at({"type": "integer", "minimum": True}), ["/properties/a/minimum"])
        no_forms: tuple[Any, ...] = (None, 7, "", "x", [], True)
        for none in no_forms:
            self.assertIsInstance(read_form(none), list, none)
        deep: Any = []
        for _ in range(200):
            deep = [deep]
        self.assertEqual(read_form({"type": "object", "properties": {}, "examples": deep}), [("", "is nested too deep")])
