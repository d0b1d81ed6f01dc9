"""A question with a form: the page draws it, and the answer is what it asks for or none."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from typing import Any

from intray_client import Answer, AsyncIntray, Intray, NoAnswer, StillOpen, WrongAnswer
from world import Story

PAYLOAD = {"title": "Is this post fine?"}
FORM = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["fine", "spam"]}, "note": {"type": "string", "maxLength": 5}},
    "required": ["verdict"],
}


class Verdict:
    """What a program may have instead of Pydantic."""

    def __init__(self, verdict: str, note: str = "") -> None:
        if note == verdict:
            raise LookupError(f"{note} is no reason")
        self.verdict, self.note = verdict, note

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return FORM

    @classmethod
    def model_validate(cls, raw: Any) -> Verdict:
        return cls(**raw)


class Forms(Story):
    def answered(self, result: Any, ask: Callable[[], Any]) -> Any:
        """What `ask` comes to when a person hands this in."""
        outcomes: list[Any] = []

        def run() -> None:
            try:
                outcomes.append(ask())
            except BaseException as error:
                outcomes.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        [job] = self.plain.reserve([self.queue], worker="ann", wait=20)
        job.complete(result)
        thread.join(60)
        [outcome] = outcomes
        return outcome

    def ask(self, form: Any, key: str = "one", payload: Any = PAYLOAD, **how: Any) -> Answer:
        return self.intray.ask(self.queue, payload, key=key, form=form, **how)

    def test_answer_is_an_instance_of_the_class(self) -> None:
        answer = self.answered({"verdict": "spam", "note": "links"}, lambda: self.ask(Verdict))
        self.assertIsInstance(answer.result, Verdict)
        self.assertEqual((answer.result.verdict, answer.result.note, answer.worker), ("spam", "links", "ann"))
        self.assertEqual(self.wire.of("/jobs")[0].body["payload"], {**PAYLOAD, "form": FORM})
        self.assertEqual(self.ask(Verdict).result.note, "links", "the same key")

    def test_client_on_a_loop_asks_with_a_form(self) -> None:
        async def ask() -> Answer[Verdict]:
            async with AsyncIntray(self.wire.url) as intray:
                return await intray.ask(self.queue, PAYLOAD, key="one", form=Verdict)

        answer = self.answered({"verdict": "fine"}, lambda: asyncio.run(ask()))
        self.assertEqual(answer.result.verdict, "fine")

    def test_answer_to_a_schema_is_the_result_as_it_came(self) -> None:
        result = {"verdict": "fine", "more": [1.5, None]}
        self.assertEqual(self.answered(result, lambda: self.ask(FORM)).result, result)
        self.assertEqual(self.wire.of("/jobs")[0].body["payload"], {**PAYLOAD, "form": FORM})

    def test_result_that_does_not_fit_is_no_answer(self) -> None:
        wrong = [
            ({"verdict": "SECRET", "note": "too long"}, ["/verdict", "/note"]),
            ({"approved": True}, ["/verdict"]),
            ("fine", [""]),
            (None, [""]),
        ]
        for n, (raw, pointers) in enumerate(wrong):
            for form in (FORM, Verdict):
                key = f"{n}-{form is FORM}"
                error = self.answered(raw, lambda form=form, key=key: self.ask(form, key))  # type: ignore[misc]
                self.assertIsInstance(error, WrongAnswer)
                self.assertNotIsInstance(error, NoAnswer)
                self.assertEqual((error.raw, [place["pointer"] for place in error.errors]), (raw, pointers))
                self.assertEqual(self.plain.job(error.job).state, "completed")
                self.assertNotIn("SECRET", f"{error} {error!r} {error.errors}")
                with self.assertRaises(WrongAnswer):
                    self.ask(form, key)

    def test_result_that_the_class_refuses_is_no_answer(self) -> None:
        raw = {"verdict": "spam", "note": "spam"}
        error = self.answered(raw, lambda: self.ask(Verdict))
        self.assertIsInstance(error, WrongAnswer)
        self.assertEqual((error.raw, error.errors), (raw, []))
        self.assertEqual((error.__cause__, error.__suppress_context__), (None, True), "the error of the class has the answer in it")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), again.job, again.raw, str(again)), (WrongAnswer, error.job, raw, str(error)))

    def test_form_that_cannot_be_drawn_is_refused_before_it_asks(self) -> None:
        def of(**schema: Any) -> dict[str, Any]:
            return {"type": "object", "properties": {"a": schema}}

        class Other:
            @classmethod
            def model_json_schema(cls) -> dict[str, Any]:
                return of(type="array", items={"type": "string"})

            @classmethod
            def model_validate(cls, raw: Any) -> Other:
                return cls()

        for form, text in (
            (of(type="string", minLenght=3), "/properties/a/minLenght: `minLenght` is not a keyword of a form"),
            (of(type="string", pattern="x"), "/properties/a/pattern: `pattern` is a keyword of a queue's form only"),
            (of(type="text", title=7), "/properties/a/type: `type` must be string, number"),
            (Other, "/properties/a/items: the items of a list must be options"),
            ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {}}}}, "not by a reference"),
            ({"type": "string"}, "the `type` of a form must be object"),
            ({}, "`type` must be there"),
        ):
            with self.assertRaises(ValueError) as caught:
                self.ask(form, timeout=0)
            self.assertIn(text, str(caught.exception))
        for no_form in ("object", [FORM], int, lambda: FORM):
            with self.assertRaises(TypeError):
                self.ask(no_form, timeout=0)
        self.assertEqual(self.wire.calls, [])

    def test_payload_with_a_form_is_an_object_without_one(self) -> None:
        payloads: list[Any] = [None, 7, "text", [PAYLOAD], {"form": "A-7"}, {**PAYLOAD, "form": FORM}]
        for payload in payloads:
            with self.assertRaisesRegex(ValueError, "an object without a member `form`"):
                self.ask(FORM, payload=payload, timeout=0)
        self.assertEqual(self.wire.calls, [])
        with self.assertRaises(StillOpen):
            self.intray.ask(self.queue, {"form": "A-7"}, key="without", timeout=0)

    def test_result_and_routing_have_types(self) -> None:
        """For mypy, which finds an `ignore` that is not needed."""

        def check(intray: Intray) -> None:
            wrong: Answer[int] = intray.ask(self.queue, PAYLOAD, key="one", form=Verdict)  # type: ignore[arg-type]
            right: Answer[Verdict] = intray.ask(self.queue, PAYLOAD, key="one", form=Verdict)
            other: Answer[int] = intray.ask(self.queue, PAYLOAD, key="one", form=FORM)
            intray.ask(self.queue, PAYLOAD, key="one", assignees=["ann"], excluded=["bob"], skill="refunds", fallback_ms=60_000)
            intray.ask(self.queue, PAYLOAD, key="one", asignees=["ann"])  # type: ignore[call-arg]

        self.assertTrue(callable(check))
