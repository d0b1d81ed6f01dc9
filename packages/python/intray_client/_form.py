"""The form of a question: what the answer looks like, for the page to draw and for the answer to be read by."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from ._errors import WrongAnswer
from ._fit import misfits, unsound
from ._gate import FAULTS, read_form
from ._keywords import bounded

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    #: What the answer is read as: an instance, or what was handed in.
    R = TypeVar("R", covariant=True, default=Any)
else:
    from typing import TypeVar

    R = TypeVar("R", covariant=True)


class FormModel(Protocol[R]):
    """A class that says what it looks like and reads it, such as a `BaseModel` of Pydantic."""

    def model_json_schema(self) -> dict[str, Any]: ...

    def model_validate(self, obj: Any, /) -> R: ...


class QuestionForm:
    """`ValueError`: it cannot be drawn, with each place."""

    def __init__(self, form: Any) -> None:
        self._model = None if isinstance(form, Mapping) else form
        if self._model is not None and not all(hasattr(form, name) for name in ("model_json_schema", "model_validate")):
            raise TypeError("a form is a dict, or a class with model_json_schema() and model_validate()")
        self.schema = dict(form) if self._model is None else form.model_json_schema()
        read = read_form(self.schema)
        if isinstance(read, list):
            places = "; ".join(f"{pointer}: {detail}" if pointer else detail for pointer, detail in read)
            raise ValueError(f"the form cannot be drawn: {places}")
        if "properties" not in self.schema:
            raise ValueError("the form of a question has `type` and `properties` itself, not by a reference")
        self._form = read

    def added_to(self, payload: Any) -> dict[str, Any]:
        """The payload with the form in it."""
        if not isinstance(payload, Mapping) or "form" in payload:
            raise ValueError("the payload of a question with a form is an object without a member `form`")
        return {**payload, "form": self.schema}

    def answer(self, job: str, raw: Any) -> Any:
        """The result, or the instance. `WrongAnswer`: it does not fit."""
        unfit = unsound(raw)
        faults = [unfit] if unfit else list(islice(misfits(self._form, raw), FAULTS))
        if faults:
            raise WrongAnswer(job, raw, [bounded(fault)._asdict() for fault in faults])
        if self._model is None:
            return raw
        try:
            return self._model.model_validate(raw)
        except Exception:
            raise WrongAnswer(job, raw) from None  # Its text may have the answer in it.
